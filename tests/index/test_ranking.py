"""A small shop, and questions about it: the files that are meant come first."""

import threading

import pytest

from agi.index.asking import read_question
from agi.index.building import bring_up_to_date
from agi.index.graph import Graph
from agi.index.history import Commit, Past
from agi.index.lexical import Tables
from agi.index.postings import Postings
from agi.index.ranking import State, Weights, rank, read_signs, scaled, weigh
from agi.index.symbols import read_symbols
from agi.workspace.handle import Workspace

SHOP = {
    "shop/cart.py": "class ShoppingCart:\n  def add_item(self, item): self.items += [item]\n  def total(self): ...\n",
    "shop/pricing.py": "def round_price(amount):\n    return amount.quantize()\n\nclass DiscountRule:\n    rate = 0\n",
    "shop/checkout.py": "from shop.cart import ShoppingCart\n\ndef place_order(cart): charge(cart.total())\n",
    "shop/payments/stripe.py": "def charge(amount):  # Charge a card; retries on time-out.\n  retry_policy()\n",
    "shop/payments/retries.py": "MAX_RETRIES = 3\n\ndef retry_policy(): ...\n",
    "shop/mail/sender.py": "class MailSender:\n    def send_receipt(self, order): connect_smtp()\n",
    "shop/mail/templates.py": "RECEIPT = 'Thank you for your order of {total}'\n",
    "shop/db/session.py": "class DatabaseSession:\n    def commit(self): ...\n    def rollback(self): ...\n",
    "shop/web/session.py": "class LoginSession:\n    cookie_name = 'sid'\n    def expire(self): ...\n",
    "shop/web/routes.py": "def cart_page(request): ...\ndef checkout_page(request): ...\n",
    "tests/test_cart.py": "def test_add_item(): cart = ShoppingCart(); cart.add_item(1); assert cart.total() == 1\n",
    "tests/test_pricing.py": "def test_round_price(): assert round_price(1) == 1\n",
    "docs/checkout.md": "# Checkout\n\nHow place_order charges a card, retries, and sends a receipt by mail.\n",
    "CHANGELOG.md": "- charge retries on time-out\n- round_price rounds up\n- ShoppingCart.add_item takes a count\n",
    "poetry.lock": "name = 'retry'\nname = 'stripe'\nname = 'session'\n",
}
PAST = (
    ("Do not lose the basket after login", "shop/web/session.py", "shop/cart.py"),
    ("Vouchers cannot be used twice", "shop/pricing.py"),
    ("Speed up the start page", "shop/web/routes.py"),
)


class Shop:
    """The shop's index, and a way to ask it."""

    def __init__(self, state, kept):
        self.state, self.kept = state, kept

    def first(self, text, count=1):
        return [one.path for one in rank(self.state, self.kept, read_question(text), count)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    for path, text in SHOP.items():
        (folder / "project" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "project" / path).write_text(text)
    kept = Postings(folder / "cache")
    with Workspace.open(folder / "project") as workspace:
        bring_up_to_date(workspace, kept, threading.Event())
    commits = [Commit("c" * 40, tuple(read_question(text).terms), tuple(paths)) for text, *paths in PAST]
    yield Shop(State(Tables(kept.files()), Past(commits)), kept)
    kept.close()


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("the shopping cart forgets an item", "shop/cart.py"),
        ("`round_price` rounds the wrong way", "shop/pricing.py"),
        ("charging a card is not retried", "shop/payments/stripe.py"),
        ("raise max retries to five", "shop/payments/retries.py"),
        ("receipts are sent twice by the mail sender", "shop/mail/sender.py"),
        ("database session: roll back on error", "shop/db/session.py"),
        ("login sessions expire too early", "shop/web/session.py"),
        ("discount rules stack", "shop/pricing.py"),
        ("place order fails for an empty cart", "shop/checkout.py"),
        ("the text that says thank you has a typo", "shop/mail/templates.py"),
    ],
)
def test_the_file_that_is_meant_comes_first(shop, text, path):
    """In the words of people rather than of the code."""
    assert shop.first(text) == [path]


def test_a_path_that_is_named_beats_every_word(shop):
    """A stack trace says where."""
    trace = 'Traceback:\n  File "/srv/app/shop/mail/templates.py", line 1\nKeyError: cart total of checkout order'
    assert shop.first(trace) == ["shop/mail/templates.py"]
    assert shop.first("does poetry.lock name the stripe session?") == ["poetry.lock"]


def test_who_asks_about_tests_gets_tests(shop):
    """Else the code they test."""
    assert shop.first("the test of add item is flaky") == ["tests/test_cart.py"]
    assert shop.first("add item is slow") == ["shop/cart.py"]


def test_words_that_are_only_in_past_messages_find_what_was_changed_then(shop):
    """Nobody writes "voucher" in this code."""
    assert shop.first("a voucher is accepted twice") == ["shop/pricing.py"]


def test_a_commit_that_is_named_speaks_for_its_files(shop):
    """A regression names its cause."""
    state = State(shop.state.tables, Past([Commit("ab12cd34" * 5, (), ("shop/db/session.py",))]))
    assert rank(state, shop.kept, read_question("slow since ab12cd34a"), 1)[0].path == "shop/db/session.py"


def test_reasons_are_given(shop):
    """Whoever shows the selection can say why."""
    (best,) = rank(shop.state, shop.kept, read_question("vouchers in shop/pricing.py"), 1)
    assert best.why[0] == "its path is named"
    assert any("whose message is alike" in reason for reason in best.why)


def test_recent_change_alone_brings_nothing_in(shop):
    """A question without a word of the project has no answer."""
    assert shop.first("xylophone", 5) == []
    assert shop.first("", 5) == []


def test_equal_files_come_in_the_order_of_their_paths(shop):
    """The same question has one answer."""
    assert shop.first("cart", 15) == shop.first("cart", 15)


def test_weights_decide_and_each_sign_can_be_left_out(shop):
    """As the evaluation does to tell what each is worth."""
    question = read_question("a voucher is accepted twice")
    signs = read_signs(shop.state, shop.kept, question)
    with_past = weigh(shop.state, signs, question, Weights())
    without = weigh(shop.state, signs, question, Weights(alike=0.0, recent=0.0))
    place = shop.state.places["shop/pricing.py"]
    assert with_past[place] > without.get(place, 0.0)


@pytest.fixture
def linked(shop):
    """The shop with who uses whom, as the real parser reads it."""
    graph = Graph()
    for path, text in SHOP.items():
        if path.endswith(".py"):
            graph.put(path, read_symbols(path, text.encode()))
    state = State(shop.state.tables, shop.state.past)
    state.links = graph.links()
    return Shop(state, shop.kept)


def test_a_file_that_no_word_speaks_for_is_found_by_who_uses_it(shop, linked):
    """The mail's templates are not; what the charge needs is."""
    question = "charge takes twice"
    assert "shop/payments/retries.py" not in shop.first(question, 15)
    found = rank(linked.state, linked.kept, read_question(question), 15)
    (one,) = (one for one in found if one.path == "shop/payments/retries.py")
    assert one.why == ("uses files that fit, or is used by them",)
    assert "shop/mail/templates.py" not in [one.path for one in found]


def test_links_leave_the_best_file_in_its_place(shop, linked):
    """What lies around it does not overtake it."""
    for question in (
        "the shopping cart forgets an item",
        "raise max retries to five",
        "login sessions expire too early",
    ):
        assert linked.first(question) == shop.first(question)


def test_what_defines_a_name_in_the_question_is_told_as_such(linked):
    """By the parser, not by a pattern."""
    (best,) = rank(linked.state, linked.kept, read_question("`round_price` is wrong"), 1)
    assert (best.path, best.why[0]) == ("shop/pricing.py", "defines round_price, which is named")


def test_links_to_files_that_are_not_indexed_lead_nowhere(shop, linked):
    """The graph may be older than the words, or newer."""
    few = [file for file in shop.state.tables.files if file.path != "shop/payments/retries.py"]
    state = State(Tables(few), Past([]))
    state.links = linked.state.links
    found = [one.path for one in rank(state, shop.kept, read_question("charge takes twice"), 15)]
    assert "shop/payments/stripe.py" in found
    assert "shop/payments/retries.py" not in found


def test_without_a_start_links_bring_nothing_in(linked):
    """A question without a word of the project still has no answer."""
    assert linked.first("xylophone", 5) == []


def test_scaling_leaves_nothing_where_there_is_nothing():
    """No sign divides by nought."""
    assert scaled({}) == scaled({1: 0.0}) == {}
    assert scaled({1: 2.0, 2: 1.0}) == {1: 1.0, 2: 0.5}

"""What an agent can do: one file per tool behind the small protocol in `base`. Asking a person is not decided here."""

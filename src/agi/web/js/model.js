// One conversation as this tab knows it: messages in order, calls, what waits. Events change it; it draws nothing.

const STATE_EVENTS = /^(turn_|approval_|preflight_|message_|steer_|worker_|session_|job_|usage_|model_backed|verification_|compaction_|context_compacted|files_)/;
const CLOSES_TEXT = /^(model_output_completed|turn_started|turn_resumed)$/;
const NOBODY = { policy: " by a rule", expired: ", as nobody answered in time" };
const PAGE = 60;

export class Conversation {
  rows = [];          // {id, message, turn, ts, parts: Map(part id → {kind, text}), html, note}
  byId = new Map();
  calls = new Map();  // id → {id, name, input, state, output, result, ms (null: not known)}
  turns = new Map();  // id → {status, error, verification, note}
  waiting = new Map(); // message id → message, of those in the queue
  session = null;
  running = "";       // the turn that runs; the session's last one may be one that waits
  hasMore = true;
  mine = new Set();   // messages and calls that this tab sent or answered
  #past = null;       // where notes go while what happened earlier is told

  constructor(api, id, hear) {
    Object.assign(this, { api, id, hear });
  }

  get path() { return `/v1/sessions/${this.id}`; }

  /** Everything as it stands, from the stream's own snapshot; then the latest messages. */
  async begin({ session, open_text: open, turn_id: running, seq }) {
    this.seq = seq;
    this.speaking = open.length > 0;
    this.rows = [];
    this.byId.clear();
    this.session = session;
    this.running = running ?? "";
    this.hear("session");
    this.lastTurn = session.last_turn_id;
    await this.older();
    this.#againAnswered();
    for (const part of open) this.#part(part.message_id, part.part_id, part.kind, part.text, 0, this.running);
    this.hear("rows");
    if (session.queue.length) this.refresh();
  }

  /** A page of earlier messages, put in front; says how many came. */
  async older() {
    if (!this.hasMore && this.rows.length) return 0;
    const first = this.rows.find((row) => row.message);
    const before = first ? `&before=${first.id}` : "";
    const page = await this.api.get(`${this.path}/messages?limit=${PAGE}&render=html${before}`);
    this.hasMore = page.has_more;
    for (const [id, turn] of Object.entries(page.turns ?? {})) if (!this.turns.has(id)) this.turns.set(id, turn);
    const queued = new Set(this.session.queue.map((one) => one.message_id));
    const rows = [];
    for (const message of page.messages) {
      this.#learn(message);
      if (queued.has(message.id)) this.waiting.set(message.id, message);
      else if (message.role !== "tool" && !this.byId.has(message.id)) rows.push(this.#row(message, page.html?.[message.id]));
    }
    for (const [id, told] of Object.entries(page.calls ?? {})) this.#went(id, told);
    const all = this.#withNotes(rows, page.asides ?? []);
    this.rows.unshift(...all);
    return all.length;
  }

  #went(id, { duration_ms: ms, interrupted, blocked, running, output, output_seq: heard }) {
    if (!running) this.call(id, { ms, interrupted, ...(blocked ? { state: "blocked" } : {}) });
    else if (!this.call(id).result) this.call(id, { state: "running", output, heard });
  }

  /** What happened between these messages stands between them; what came after the snapshot is still to be told. */
  #withNotes(rows, asides) {
    const after = new Map([["", []]]);
    for (const row of rows) after.set(row.id, []);
    let last = after.get("");
    for (const aside of asides) {
      if (aside.seq > this.seq) break;
      last = after.get(aside.after) ?? last;
      this.#past = last;
      this[`on_${aside.type}`]?.(aside.data, aside);
    }
    this.#past = null;
    return [...after.get(""), ...rows.flatMap((row) => [row, ...after.get(row.id)])];
  }

  #row(message, html) {
    const row = { id: message.id, message, html, turn: message.turn_id, ts: message.created_at, parts: new Map(), version: 0 };
    this.byId.set(message.id, row);
    return row;
  }

  #add(message, ts) {
    if (this.byId.has(message.id)) return this.byId.get(message.id);
    const row = this.#row(message);
    row.ts = message.created_at || ts;
    row.live = true;
    this.rows.push(row);
    this.hear("rows");
    return row;
  }

  /** What a message says about calls: that they were asked for, and what came of them. */
  #learn(message) {
    for (const { type, content } of message.parts) {
      if (type === "tool_call") this.call(content.id, { name: content.name, input: content.args });
      if (type === "tool_result") {
        const call = this.call(content.id, { name: content.name });
        if (!call.result) Object.assign(call, { result: content, state: content.ok ? "done" : "failed" });
      }
    }
  }

  call(id, known = {}) {
    if (!this.calls.has(id)) this.calls.set(id, { id, name: "", input: null, state: "asked", output: "", result: null, ms: null });
    return Object.assign(this.calls.get(id), known);
  }

  #part(messageId, partId, kind, delta, offset, turn, ts) {
    const message = { id: messageId, role: "assistant", parts: [], status: "pending", turn_id: turn, created_at: ts ?? new Date().toISOString(), agent: this.session?.agent ?? "" };
    const row = this.byId.get(messageId) ?? this.#add(message, ts);
    if (row.message.status !== "pending") return;
    const part = row.parts.get(partId) ?? { id: partId, kind, text: "", points: 0 };
    const fresh = !row.parts.has(partId);
    row.parts.set(partId, part);
    if (offset > part.points) return this.hear("gap");
    if (offset < part.points) {
      part.text = [...part.text].slice(0, offset).join("");
      part.rewound = (part.rewound ?? 0) + 1;
    }
    part.text += delta;
    part.points = offset + points(delta);
    this.hear(fresh ? "row" : "text", row, part);
  }

  note(event, text, kind = "") {
    const row = { id: `note-${event.seq}`, note: text, kind, turn: event.turn_id, ts: event.ts };
    if (this.#past) { this.#past.push(row); return; }
    this.rows.push(row);
    this.hear("rows");
  }

  /** Whether nothing lies between this event and the last one. Pieces of text that came live are not told again from the log. */
  #follows(type, seq) {
    const isPiece = type === "model_output_delta";
    const follows = isPiece || seq === this.seq + 1 || (this.speaking && seq > this.seq);
    this.speaking = isPiece || (this.speaking && !CLOSES_TEXT.test(type));
    this.seq = Math.max(this.seq, seq);
    return follows;
  }

  /** One event of the log. */
  apply(type, event) {
    if (!this.#follows(type, event.seq)) return this.hear("gap");
    const data = event.data ?? {};
    this[`on_${type}`]?.(data, event);
    if (STATE_EVENTS.test(type)) this.refresh();
  }

  on_model_output_delta(data, event) {
    this.#part(data.message_id, data.part_id, data.kind, data.delta, data.offset, event.turn_id, event.ts);
  }

  on_message_added({ message, queued }, event) {
    if (queued) this.waiting.set(message.id, message);
    else if (message.role === "tool") this.#learn(message);
    else this.#add({ ...message, turn_id: message.turn_id ?? event.turn_id }, event.ts);
  }

  on_message_edited({ message_id: id, parts }) {
    if (this.waiting.has(id)) this.waiting.set(id, { ...this.waiting.get(id), parts });
  }

  on_turn_started({ message_id: id, retry_of: again }, event) {
    this.#take(id, event);
    this.turns.set(event.turn_id, { status: "running" });
    this.running = event.turn_id;
    const before = this.#asked(this.lastTurn);
    this.lastTurn = event.turn_id;
    if (again && this.byId.has(id)) this.byId.get(id).latest = event.turn_id;
    for (const row of new Set([before, this.byId.get(id)])) if (row) this.hear("row", row);
  }

  /** The message that a turn answers; one that was retried is answered by the latest turn, and keeps the first as its own. */
  #asked(turn) { return this.rows.findLast((row) => (row.latest ?? row.turn) === turn && row.message?.role === "user" && !row.message.origin); }

  /** A last turn without a message of its own was a retry of the last one that was asked. */
  #againAnswered() {
    const { last_turn_id: turn, queue, status } = this.session;
    const row = this.rows.findLast((one) => one.message?.role === "user" && !one.message.origin);
    if (!turn || queue.length || !row || row.turn === turn || row.message.reverted || this.#asked(turn)) return;
    row.latest = turn;
    if (!this.turns.has(turn)) this.turns.set(turn, { status });
  }

  /** What was said first in a turn, if it is on the page. */
  saidFirst(turn) {
    const row = this.rows.find((one) => one.turn === turn && one.message?.role === "user");
    return row?.message.parts.filter((part) => part.type === "text").map((part) => part.text).join(" ").slice(0, 200) ?? "";
  }

  on_message_steered({ message_id: id }, event) { this.#take(id, event); }

  #take(id, event) {
    const message = this.waiting.get(id);
    if (!message) return;
    this.waiting.delete(id);
    this.#add({ ...message, turn_id: event.turn_id }, event.ts);
  }

  on_model_output_completed({ message }, event) {
    const whole = { ...message, turn_id: message.turn_id ?? event.turn_id };
    const row = this.byId.get(message.id) ?? this.#add(whole, event.ts);
    row.message = whole;
    this.#learn(message);
    this.hear("row", row);
  }

  on_tool_call_started({ tool_call: call }, event) {
    this.hear("call", this.call(call.id, { name: call.name, input: call.input, state: "running", started: event.ts }));
  }

  on_tool_output_delta({ tool_call_id: id, chunk }, event) {
    const call = this.call(id);
    if (event.seq <= (call.heard ?? 0)) return; // it was told with the messages
    call.output = (call.output + chunk).slice(-20_000);
    this.hear("output", call);
  }

  on_tool_call_completed(data) {
    const result = { ...data.tool_result, name: data.name };
    const state = data.blocked ? "blocked" : result.ok ? "done" : "failed";
    this.hear("call", this.call(data.tool_call_id, { name: data.name, result, state, ms: data.duration_ms ?? 0, interrupted: data.interrupted }));
  }

  on_approval_granted(data, event) { this.#answered(data, event, "allowed"); }
  on_approval_denied(data, event) { this.#answered(data, event, "refused"); }

  /** Who answered, as far as it is known. That a canceled turn asks no more is said by its end. */
  #answered(data, event, word) {
    if (data.cause === "canceled") return;
    const longer = data.remember && data.remember !== "once" ? `, for this ${data.remember}` : "";
    this.note(event, `${data.name} ${word}${this.#by(data)}${longer}${data.reason ? `: ${data.reason}` : ""}`, word);
  }

  #by({ tool_call_id: id, cause = "user", client = "" }) {
    if (this.mine.has(id)) return " here";
    if (cause !== "user") return NOBODY[cause] ?? ` by ${cause}`;
    if (client && client !== "web") return ` in ${client}`;
    return this.#past ? (client ? " on this page" : "") : " elsewhere";
  }

  on_turn_completed(data, event) { this.#ended(event, { status: "completed", ...data }); }
  on_turn_failed(data, event) { this.#ended(event, { status: "failed", ...data }); }
  on_turn_canceled(data, event) { if (!data.steered_into) this.#ended(event, { status: "canceled", ...data }); }

  #ended(event, outcome) {
    for (const [id, message] of this.waiting) if (message.turn_id === event.turn_id) this.waiting.delete(id);
    this.turns.set(event.turn_id, outcome);
    if (this.running === event.turn_id) this.running = "";
    const last = this.rows.findLast((row) => row.turn === event.turn_id && row.message);
    for (const row of new Set([this.#asked(event.turn_id), last])) if (row) this.hear("row", row);
    this.hear("ended", { ...outcome, id: event.turn_id });
  }

  on_verification_completed(data, event) {
    const shape = { passed: "✓", failed: "✗", not_run: "○" }[data.status];
    const what = data.baseline ? "before any change: checks" : "verification";
    this.note(event, `${shape} ${what} ${data.status.replace("_", " ")}: ${data.command || data.reason}`, data.baseline ? "" : data.status);
  }

  on_model_backed_off(data, event) { this.note(event, `↻ ${data.provider} is busy (${data.reason}); asked again at ${new Date(data.resume_at).toLocaleTimeString()}`); }
  on_model_switched(data, event) { this.note(event, `${data.from_provider}/${data.from_model} could not answer (${data.reason}); ${data.provider}/${data.model} goes on`); }
  on_context_compacted(data, event) { this.note(event, `The conversation was made shorter: ${data.pre_tokens} → ${data.post_tokens} tokens. Nothing was deleted.`); }
  on_compaction_failed(data, event) { this.note(event, `The conversation was not made shorter: ${data.reason}`); }
  on_notice(data, event) { this.note(event, data.message); }

  /** How it stands now, asked once for many events. */
  refresh() {
    if (this.asking) { this.askAgain = true; return; }
    this.asking = true;
    this.askAgain = false;
    setTimeout(async () => {
      try {
        this.session = await this.api.get(this.path);
        const unknown = this.session.queue.some((one) => !this.waiting.has(one.message_id));
        if (unknown) for (const one of (await this.api.get(`${this.path}/queue`)).queue) this.waiting.set(one.message_id, { id: one.message_id, turn_id: one.turn_id, role: "user", parts: one.parts, created_at: one.created_at });
        this.hear("session");
      } catch { /* the connection's own state tells of it */ }
      this.asking = false;
      if (this.askAgain) this.refresh();
    }, 60);
  }
}

/** The log counts characters, not the halves that a browser makes of some of them. */
function points(text) {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) count -= 1;
  return count;
}

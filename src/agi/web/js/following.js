// What happens, told as it does: the streams of this tab over one WebSocket, each going on where it broke off. A browser keeps six
// ordinary connections to one place for all its tabs together; sockets do not count among them, so every tab has its own.

const PAUSES = [300, 1000, 2000, 4000, 8000];
const SILENCE = 40_000; // the daemon says something every 15 s, if only that it is there
const NOT_PROVED = 4401;

export class Following {
  #streams = new Map(); // number → {number, session, on, cursor}
  #last = 0;
  #socket = null;
  #attempt = 0;
  #retry = 0;
  #silence = 0;

  constructor(api) {
    this.api = api;
    const now = () => { if (!this.#socket && this.#retry) this.#connect(); };
    globalThis.addEventListener("online", now);
    document.addEventListener("visibilitychange", now);
  }

  follow(session, on, cursor) {
    const one = { number: this.#last += 1, session, on, cursor };
    this.#streams.set(one.number, one);
    if (!this.#socket) this.#connect();
    else this.#ask(one);
    return { close: () => { if (this.#streams.delete(one.number)) this.#say({ type: "drop", id: one.number }); } };
  }

  stop() {
    const socket = this.#socket;
    this.#streams.clear();
    this.#socket = null;
    clearTimeout(this.#silence);
    clearTimeout(this.#retry);
    this.#retry = 0;
    socket?.close();
  }

  #connect() {
    clearTimeout(this.#retry);
    this.#retry = 0;
    const { key } = this.api;
    const socket = this.#socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/v1/streams`);
    socket.onopen = () => {
      this.#say({ type: "auth", key });
      for (const one of this.#streams.values()) this.#ask(one);
    };
    socket.onmessage = ({ data }) => { if (socket === this.#socket) this.#hear(data); };
    socket.onclose = ({ code }) => { if (socket === this.#socket) this.#lost(code, key); };
    this.#listen();
  }

  #say(message) { if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message)); }
  #ask({ number, session, cursor }) { this.#say({ type: "follow", id: number, session_id: session, after: cursor }); }

  #lost(code, key) {
    this.#socket = null;
    clearTimeout(this.#silence);
    if (code === NOT_PROVED) return key === this.api.key ? this.api.signedOut() : this.#connect(); // another tab may have signed in
    const pause = PAUSES[Math.min(this.#attempt, PAUSES.length - 1)];
    this.#attempt += 1;
    if (this.#attempt > 1) this.api.lost(Date.now() + pause);
    this.#retry = setTimeout(() => this.#connect(), pause);
  }

  /** Whatever is silent for too long is as good as gone. */
  #listen() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => { this.#socket?.close(); this.#lost(0); }, SILENCE);
  }

  /** A line with the number of a stream, then its frames. */
  #hear(text) {
    this.#attempt = 0;
    this.#listen();
    this.api.heard();
    const end = text.indexOf("\n");
    const one = this.#streams.get(Number(text.slice(0, end)));
    for (const frame of text.slice(end + 1).split("\n\n")) if (frame && this.#streams.has(one?.number)) this.#frame(one, frame);
  }

  #frame(one, text) {
    let type = "message", data = "", id = "";
    for (const line of text.split("\n")) {
      if (line.startsWith("data: ")) data = line.slice(6);
      else if (line.startsWith("event: ")) type = line.slice(7);
      else if (line.startsWith("id: ")) id = line.slice(4);
    }
    if (id) one.cursor = id;
    if (type === "refused") this.#streams.delete(one.number);
    one.on(type, JSON.parse(data || "null"), id);
  }
}

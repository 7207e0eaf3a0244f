// Asking the daemon: one fetch for everything, one shape of errors, and one line on which it tells what happens.

import { Following } from "./following.js";

const KEY = "agi.key";
const SIGN_IN = "/v1/sign-in";

export class ApiError extends Error {
  constructor(status, { code = "", message = "", hint = "" } = {}) {
    super(message || `The daemon answered with ${status}.`);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

/** `connection`: {up, since, retryAt}. Listeners hear of each change. */
export class Api extends EventTarget {
  connection = { up: true, since: new Date(), retryAt: 0 };
  #following = new Following(this);
  #pictures = new Map(); // path → promise of its address

  get = (path) => this.#json("GET", path);
  post = (path, body) => this.#json("POST", path, body ?? {});
  patch = (path, body) => this.#json("PATCH", path, body);
  put = (path, body) => this.#json("PUT", path, body);
  del = (path) => this.#json("DELETE", path);

  async signIn(code) {
    const { key } = await this.#json("POST", SIGN_IN, { code });
    localStorage.setItem(KEY, key);
  }

  async isSignedIn() {
    if (!this.hasKey) return false;
    try { await this.get("/v1/sessions?limit=1"); } catch (error) { return error.status !== 401; }
    return true;
  }

  async signOut() {
    await this.del(`${SIGN_IN}?everybody=false`).catch(() => {});
    localStorage.removeItem(KEY);
    this.signedOut();
  }

  signedOut() {
    this.#following.stop();
    this.#tell("signedout");
  }

  get key() { return localStorage.getItem(KEY) ?? ""; }
  get hasKey() { return Boolean(this.key); }

  /** An answer that is no JSON. */
  async raw(path, options = {}) {
    const headers = new Headers(options.headers);
    const { key } = this;
    if (key && path !== SIGN_IN) headers.set("x-agi-key", key);
    let answer;
    try {
      answer = await fetch(path, { ...options, headers, credentials: "same-origin", redirect: "error" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ApiError(0, { code: "unreachable", message: "The daemon does not answer.", hint: "Is it running? `agi serve` starts it." });
    }
    if (answer.ok) return answer;
    const told = (await answer.json().catch(() => ({}))).error;
    if (answer.status === 401 && path !== SIGN_IN) {
      if (key !== this.key) return this.raw(path, options); // another tab has just signed in
      this.signedOut();
    }
    throw new ApiError(answer.status, told);
  }

  /** The address of a picture or file, for this page alone. */
  picture = (path) => {
    if (!this.#pictures.has(path)) {
      const address = this.raw(path).then((answer) => answer.blob()).then((bytes) => URL.createObjectURL(bytes));
      this.#pictures.set(path, address);
      address.catch(() => this.#pictures.delete(path));
    }
    return this.#pictures.get(path);
  };

  /** Nothing on screen shows a picture any more: the browser need not keep them. */
  forgetPictures() {
    for (const address of this.#pictures.values()) address.then((url) => URL.revokeObjectURL(url), () => {});
    this.#pictures.clear();
  }

  upload(path, file) {
    const form = new FormData();
    form.append("file", file, file.name || "pasted.png");
    return this.raw(path, { method: "POST", body: form }).then((answer) => answer.json());
  }

  async #json(method, path, body) {
    const options = { method };
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers = { "content-type": "application/json" };
    }
    const answer = await this.raw(path, options);
    return answer.status === 204 ? null : answer.json();
  }

  /** Follow a session, or without one the list of them: `on(type, data, id)` for each event, in order, once, until `close()`. */
  follow(session, on, after = "") { return this.#following.follow(session, on, after); }

  heard() {
    if (this.connection.up) return;
    this.connection = { up: true, since: new Date(), retryAt: 0 };
    this.#tell("connection");
  }

  lost(retryAt) {
    const since = this.connection.up ? new Date() : this.connection.since;
    this.connection = { up: false, since, retryAt };
    this.#tell("connection");
  }

  #tell(name) { this.dispatchEvent(new Event(name)); }
}

import assert from "node:assert/strict";
import test from "node:test";
import { MissingValue, compose, fill } from "../src/template.js";

test("blanks are filled", () => {
  assert.equal(fill("Hello {{ name }}", { name: "Ann" }), "Hello Ann");
});

test("a missing value is an error", () => {
  assert.throws(() => compose("overdue", { name: "Ann" }), MissingValue);
});

test("an unknown template is an error", () => {
  assert.throws(() => compose("birthday", {}), RangeError);
});

"use strict";
const by = (id) => document.getElementById(id);
const own = JSON.parse(by("own").textContent), bytesOf = (text) => new TextEncoder().encode(text);

// SHA-256 (FIPS 180-4) and HMAC with a key of one block (RFC 2104): a page from a file or a phone has no other everywhere
const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
const fraction = (x) => ((x % 1) * 2 ** 32) | 0;
const constants = primes.map((prime) => fraction(Math.cbrt(prime)));
const turned = (x, n) => (x >>> n) | (x << (32 - n));
const sha256 = (bytes) => {
  const hash = Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
  const view = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6)), words = new Int32Array(64);
  new Uint8Array(view.buffer).set([...bytes, 0x80]);
  view.setUint32(view.byteLength - 4, bytes.length * 8);
  for (let start = 0; start < view.byteLength; start += 64) {
    for (let i = 0; i < 64; i++) {
      const [x, y] = [words[i - 15], words[i - 2]];
      words[i] = i < 16 ? view.getInt32(start + 4 * i) : words[i - 16] + (turned(x, 7) ^ turned(x, 18) ^ (x >>> 3)) + words[i - 7] + (turned(y, 17) ^ turned(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; i++) {
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + constants[i] + words[i];
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { hash[i] += x; });
  }
  const out = new DataView(new ArrayBuffer(32));
  hash.forEach((x, i) => out.setInt32(4 * i, x));
  return new Uint8Array(out.buffer);
};
const hmac = (key, text) => {
  const padded = (pad) => [...bytesOf(key)].map((byte) => byte ^ pad);
  const inner = sha256(Uint8Array.from([...padded(0x36), ...bytesOf(text)]));
  return [...sha256(Uint8Array.from([...padded(0x5c), ...inner]))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
};

const forms = [...document.querySelectorAll("form")], done = by("done"), answers = { quiz: [], checks: [], choices: [] };
let at = 0, participant = null, isSaved = false;
const show = (place) => {
  at = place;
  forms.forEach((form, i) => { form.hidden = i !== at; });
  done.hidden = at < forms.length;
  by("stop").hidden = at === 0 || at >= forms.length;
  document.querySelector("progress").value = at;
  if (at >= forms.length) finish(true);
  else if (at) focusOn(forms[at]);
};
const focusOn = (part) => {
  scrollTo(0, 0);
  part.querySelector("h1").focus();
};
const finish = (isComplete) => {
  const sheet = { form: own.form, study: own.study, material: own.material, code: own.code, ...answers };
  const text = JSON.stringify({ ...sheet, participant, seal: hmac(own.key, JSON.stringify(sheet)) }, null, 1);
  isSaved = false;
  by("save").href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  by("save").download = `${own.study}-${own.code}.json`;
  by("text").value = text;
  by("back").hidden = isComplete;
  done.querySelector("h1").textContent = isComplete ? "Thank you: that was all" : "You stopped before the end";
  focusOn(done);
};
const take = {
  consent: (form, said) => { participant = (said.get("participant") ?? "").trim() || null; },
  quiz: (form, said) => { answers.quiz = [...said.values()]; },
  pair: (form, said) => {
    const chosen = said.get("chosen");
    answers.choices.push({ pair: Number(form.dataset.pair), chosen, pays: null });
    for (const line of forms[at + 1].querySelectorAll("[data-chosen]")) line.hidden = line.dataset.chosen !== chosen;
  },
  price: (form, said) => { answers.choices.at(-1).pays = said.get("pays"); },
  check: (form, said) => { answers.checks.push({ check: Number(form.dataset.check), answer: said.get("answer") }); },
};
for (const form of forms) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    take[form.dataset.step](form, new FormData(form));
    show(at + 1);
  });
}
by("stop").addEventListener("click", () => {
  forms[at].hidden = by("stop").hidden = true;
  done.hidden = false;
  finish(false);
});
by("back").addEventListener("click", () => show(at));
by("save").addEventListener("click", () => { isSaved = true; });
addEventListener("beforeunload", (event) => {
  if (at && !isSaved) event.preventDefault();
});
const field = document.querySelector("[name=participant]");
if (field) field.value = new URLSearchParams(location.search).get("PROLIFIC_PID") ?? "";
document.querySelector("main").hidden = false;
show(0);

// Where cells come from: a server on this machine, or the page itself.

const placeText = (place) => place.map(([first, stop]) => (stop === first + 1 ? first : `${first}:${stop}`)).join(",");
const changeTexts = (changes) => Object.entries(changes).map(([name, value]) => `${name}=${value}`);

// What is refused or fails in words; all else is a fault of the page, and stands in the console too.
class Refusal extends Error {}

async function asked(path, parameters) {
  let answer;
  try {
    answer = await fetch(`${path}?${new URLSearchParams(parameters)}`, { cache: "no-store" });
  } catch {
    throw new Refusal("the server does not answer: was `gridplan explore` stopped?");
  }
  if (answer.ok) return answer;
  let problems;
  try {
    problems = (await answer.json()).problems;
  } catch {
    problems = [`the server answered ${answer.status}`];
  }
  throw new Refusal(problems.join("\n"));
}

const served = {
  async block(place, names, changes) {
    const parameters = [["at", placeText(place)], ["columns", names.join(",")]];
    for (const text of changeTexts(changes)) parameters.push(["if", text]);
    return new Block(await (await asked("/cells", parameters)).arrayBuffer());
  },
  async explain(place, changes) {
    const parameters = [["at", placeText(place)], ...changeTexts(changes).map((text) => ["if", text])];
    return (await asked("/explain", parameters)).json();
  },
  async now(place) {
    return (await asked("/now", [["at", placeText(place)]])).json();
  },
};

const inPage = {
  whole: null,
  async block() {
    if (!this.whole) this.whole = unpacked(byId("cube").textContent);
    return this.whole;
  },
};

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Block(await new Response(stream).arrayBuffer());
}

const SOURCE = ABOUT.served ? served : inPage;

// One question under way at a time; of those that come meanwhile the last one counts.
class Channel {
  constructor(answer) {
    this.answer = answer;
    this.running = false;
    this.waiting = null;
    this.last = null;
  }

  // `key` says which question it is: the same one again is not asked.
  ask(key, question) {
    if (key === this.last) return;
    this.last = key;
    busy(1);
    if (this.waiting) busy(-1);
    this.waiting = question;
    if (!this.running) this.run();
  }

  async run() {
    this.running = true;
    while (this.waiting) {
      const question = this.waiting;
      this.waiting = null;
      try {
        await this.answer(question);
        clearProblem(this);
      } catch (error) {
        this.last = null;
        sayProblem(this, error);
      }
      busy(-1);
    }
    this.running = false;
  }
}

let underWay = 0;
function busy(step) {
  underWay += step;
  const root = document.documentElement;
  if (underWay) root.dataset.busy = String(underWay);
  else {
    delete root.dataset.busy;
    root.dataset.settled = String(Number(root.dataset.settled || 0) + 1);
  }
}

const problems = new Map();
function sayProblem(channel, error) {
  if (!(error instanceof Refusal)) console.error(error);
  problems.set(channel, error.message.split("\n"));
  showNotices();
}
function clearProblem(channel) {
  if (problems.delete(channel)) showNotices();
}

let linkNotices = [];
function showNotices() {
  const lines = new Set([...linkNotices, ...[...problems.values()].flat()]);
  byId("notices").replaceChildren(...[...lines].map((text) => el("p", { class: "note warning", text })));
}

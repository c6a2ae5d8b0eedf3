"""Contrast of the text in charts, which axe leaves undecided: each text against what is drawn below it."""

from __future__ import annotations

from dataclasses import dataclass

from page_view import View

__all__ = ["PaleText", "pale_texts"]

# WCAG 2.2, 1.4.3: text has 4.5:1, large text (24 px, or 18.66 px in bold) 3:1.
_SCRIPT = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = "#000"; canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const found = canvas.getImageData(0, 0, 1, 1).data;
    return [found[0], found[1], found[2], found[3] / 255];
  };
  const over = (top, strength, below) => below.map((part, at) => top[at] * strength + part * (1 - strength));
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const faded = (element) => {
    let strength = 1;
    for (let at = element; at && at instanceof SVGElement; at = at.parentElement)
      strength *= parseFloat(getComputedStyle(at).opacity);
    return strength;
  };
  const paper = rgba(getComputedStyle(document.body).backgroundColor);
  const page = over(paper, paper[3], [255, 255, 255]);
  const found = [];
  let judged = 0;
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.getClientRects().length) continue;
    const below = [];
    const walker = document.createTreeWalker(svg, NodeFilter.SHOW_ELEMENT);
    for (let at = walker.nextNode(); at; at = walker.nextNode()) {
      if (at.closest("defs, clipPath, pattern")) continue;
      const style = getComputedStyle(at);
      if (at.localName !== "text") {
        if (at instanceof SVGGeometryElement && style.fill !== "none" && !style.fill.startsWith("url"))
          below.push({shape: at, colour: rgba(style.fill), strength: parseFloat(style.fillOpacity) * faded(at)});
        continue;
      }
      const text = at.textContent.trim();
      if (!text || style.visibility === "hidden" || faded(at) === 0 || style.fill === "none") continue;
      const box = at.getBBox(), matrix = at.getScreenCTM();
      let least = null;
      for (const part of [0.1, 0.5, 0.9]) {
        const place = new DOMPoint(box.x + part * box.width, box.y + box.height / 2).matrixTransform(matrix);
        let ground = page;
        for (const {shape, colour, strength} of below) {
          const own = place.matrixTransform(shape.getScreenCTM().inverse());
          if (shape.isPointInFill(own)) ground = over(colour, colour[3] * strength, ground);
        }
        const ink = rgba(style.fill);
        const shown = over(ink, ink[3] * parseFloat(style.fillOpacity) * faded(at), ground);
        const ratio = contrast(shown, ground);
        if (least === null || ratio < least.ratio)
          least = {ratio, ink: shown.map(Math.round).join(" "), ground: ground.map(Math.round).join(" ")};
      }
      judged += 1;
      const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
      const due = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
      if (least.ratio < due)
        found.push({chart: svg.closest("figure")?.id ?? "", text, size, ...least});
    }
  }
  return {judged, found};
}
"""


@dataclass(frozen=True)
class PaleText:
    """A text of a chart that is too pale: its chart, its contrast, its colour and that of what is below it."""

    chart: str
    text: str
    ratio: float
    ink: str
    ground: str

    def __str__(self) -> str:
        return f"{self.chart}: {self.text!r} has {self.ratio:.2f}:1, rgb {self.ink} on rgb {self.ground}"


def pale_texts(view: View) -> tuple[int, list[PaleText]]:
    """How many texts of the charts shown were judged, and those whose contrast is too low.

    A text is judged at its beginning, middle and end against the filled shapes drawn before it there, blended over the
    page's background; hatches and lines do not count.
    """
    result = view.page.evaluate(_SCRIPT)
    found = [
        PaleText(item["chart"], item["text"], float(item["ratio"]), item["ink"], item["ground"])
        for item in result["found"]
    ]
    return int(result["judged"]), found

import { html } from 'htm/preact'
import type { ExplanationMessage } from '../../data/explanation.ts'
import { type WayBox, type WayLink, wayLayout } from '../../way/way-layout.ts'
import { outcomeSentence, packetWords } from '../../way/way-words.ts'

/** The packet's way as a picture; the text below it says the same. */
export function WayPicture({ explanation }: { readonly explanation: ExplanationMessage }) {
  const { width, height, boxes, links } = wayLayout(explanation)
  const words = [packetWords(explanation), ...explanation.observed.slice(0, 5).map(outcomeSentence)]
  return html`<div class="way">
    <svg viewBox=${`-1 -1 ${width + 2} ${height + 2}`} width=${width} role="img" aria-label=${words.join('. ')}>
      ${links.map((link) => html`<${Link} link=${link} />`)}
      ${boxes.map((box) => html`<${Box} box=${box} />`)}
    </svg>
  </div>`
}

function Link({
  link: { path, share, label, labelX, labelY, isLeft },
}: {
  readonly link: WayLink
}) {
  return html`<g class="link">
    <path d=${path} stroke-width=${1 + 3 * share} />
    ${label === '' ? null : html`<text x=${labelX} y=${labelY} text-anchor=${isLeft ? 'end' : 'start'}>${label}</text>`}
  </g>`
}

/** Baselines below the upper edge, in pixels. */
const HEAD_AT = 24
const FIRST_AT = 43
const LINE = 17

function Box({ box: { kind, x, y, width, height, head, lines } }: { readonly box: WayBox }) {
  return html`<g class=${`box ${kind}`} transform=${`translate(${x} ${y})`}>
    <rect width=${width} height=${height} rx="6" />
    <text class="head" x="12" y=${HEAD_AT}>${head}</text>
    ${lines.map(
      (
        { text, full, isMuted },
        index,
      ) => html`<text class=${isMuted ? 'muted' : ''} x="12" y=${FIRST_AT + index * LINE}>
        ${full === text ? null : html`<title>${full}</title>`}${text}
      </text>`,
    )}
  </g>`
}

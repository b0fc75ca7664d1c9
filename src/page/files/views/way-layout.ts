import type {
  ExplanationDocument,
  OutcomeDocument,
  StepDocument,
} from '../../../inspection/answers.ts'
import { formatCount, formatShare, hostPort } from '../display/format.ts'

/** A rectangle with a heading and lines. Lengths are pixels. */
export interface WayBox {
  readonly kind: 'packet' | 'stage' | 'rest' | OutcomeDocument['kind']
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  readonly head: string
  readonly lines: readonly WayLine[]
}

export interface WayLine {
  readonly text: string
  /** The full text, of which `text` may be a part. */
  readonly full: string
  readonly isMuted: boolean
}

/** A line from one box to another. */
export interface WayLink {
  /** The `d` of an SVG path. */
  readonly path: string
  /** The share of the packets that take this line, 0 to 1. */
  readonly share: number
  readonly label: string
  readonly labelX: number
  readonly labelY: number
  /** Whether the label ends at its position, because the line comes from the right. */
  readonly isLeft: boolean
}

/** The picture of the path of a packet. */
export interface WayLayout {
  readonly width: number
  readonly height: number
  readonly boxes: readonly WayBox[]
  readonly links: readonly WayLink[]
}

/** Sizes of the picture, in pixels, and of its fixed-width letters. */
const WIDTH = 960
const COLUMN_GAP = 16
const ROW_GAP = 22
const FORK_GAP = 54
const PADDING = 12
const HEAD_HEIGHT = 20
const LINE_HEIGHT = 17
const LETTER = 7.25
const TRUNK_WIDTH = 720
const MAX_COLUMNS = 4
const MAX_LINES = 5

/** Where everything of the picture is. Outcomes that have no space are one box together. */
export function wayLayout(explanation: ExplanationDocument): WayLayout {
  const { trunk, branches } = explainedWay(explanation.observed)
  const start = placed(packetBox(explanation), { x: middle(TRUNK_WIDTH), y: 0, width: TRUNK_WIDTH })
  const trunkBoxes = column(trunk.map(stageBox), below(start, ROW_GAP), TRUNK_WIDTH)
  const common = [start, ...trunkBoxes]
  const fork = common.at(-1) ?? start
  const columns = columnsOf(branches)
  const width = Math.min(TRUNK_WIDTH, (WIDTH + COLUMN_GAP) / columns.length - COLUMN_GAP)
  const total = columns.length * (width + COLUMN_GAP) - COLUMN_GAP
  const placedColumns = columns.map(({ boxes }, index) => {
    const x = middle(total) + index * (width + COLUMN_GAP)
    return column(boxes, { x, y: fork.y + fork.height + gapOf(columns) }, width)
  })
  const boxes = [...common, ...placedColumns.flat()]
  const forks = placedColumns.flatMap(([first], index) =>
    first === undefined ? [] : [linkOf(fork, first, columns[index]?.share ?? 1)],
  )
  const links = [common, ...placedColumns].flatMap((one, index) =>
    inSeries(one, index === 0 ? 1 : (columns[index - 1]?.share ?? 1)),
  )
  const height = Math.max(...boxes.map((one) => one.y + one.height))
  return { width: WIDTH, height, boxes, links: [...links, ...forks] }
}

type Content = Pick<WayBox, 'kind' | 'head'> & { readonly texts: readonly Omit<WayLine, 'full'>[] }
type Column = { readonly share: number; readonly boxes: readonly Content[] }

function packetBox(explanation: ExplanationDocument): Content {
  return { kind: 'packet', head: packetWords(explanation), texts: [] }
}

function stageBox({ where, steps }: Stage): Content {
  return { kind: 'stage', head: where, texts: steps.flatMap(stepTexts) }
}

function stepTexts(step: StepDocument): Content['texts'] {
  const count = counterWords(step)
  const text = { text: stepWords(step), isMuted: false }
  return count === '' ? [text] : [text, { text: count, isMuted: true }]
}

function outcomeBox(outcome: OutcomeDocument): Content {
  const [head, details] = outcomeWords(outcome)
  return { kind: outcome.kind, head, texts: [{ text: details, isMuted: false }] }
}

/** The columns of the likeliest branches; further branches share a column. */
function columnsOf(branches: readonly Branch[]): readonly Column[] {
  const isAll = branches.length <= MAX_COLUMNS
  const shown = isAll ? branches : branches.slice(0, MAX_COLUMNS - 1)
  const rest = branches.slice(shown.length)
  const columns = shown.map(({ stages, outcome }) => ({
    share: outcome.probability,
    boxes: [...stages.map(stageBox), outcomeBox(outcome)],
  }))
  if (rest.length === 0) return columns
  const share = rest.reduce((sum, { outcome }) => sum + outcome.probability, 0)
  const texts = rest.slice(0, 6).map(({ outcome }) => ({
    text: `${formatShare(outcome.probability)} ${outcomeWords(outcome)[0]}`,
    isMuted: false,
  }))
  const more = rest.length - texts.length
  const last = more === 0 ? [] : [{ text: `and ${more} more`, isMuted: true }]
  const head = `${rest.length} other outcomes`
  return [...columns, { share, boxes: [{ kind: 'rest', head, texts: [...texts, ...last] }] }]
}

function gapOf(columns: readonly Column[]): number {
  return columns.length === 1 ? ROW_GAP : FORK_GAP
}

function column(
  contents: readonly Content[],
  { x, y }: { readonly x: number; readonly y: number },
  width: number,
): readonly WayBox[] {
  const boxes: WayBox[] = []
  let top = y
  for (const content of contents) {
    const box = placed(content, { x, y: top, width })
    boxes.push(box)
    top = box.y + box.height + ROW_GAP
  }
  return boxes
}

function placed(
  { kind, head, texts }: Content,
  at: { readonly x: number; readonly y: number; readonly width: number },
): WayBox {
  const letters = Math.floor((at.width - 2 * PADDING) / LETTER)
  const lines = texts.flatMap(({ text, isMuted }) =>
    wrapText(text, letters, MAX_LINES).map((line) => ({ text: line, full: text, isMuted })),
  )
  const height = 2 * PADDING + HEAD_HEIGHT + lines.length * LINE_HEIGHT - (lines.length > 0 ? 2 : 4)
  return { kind, ...at, height, head: wrapText(head, letters, 1)[0] ?? '', lines }
}

function middle(width: number): number {
  return (WIDTH - width) / 2
}

function below(box: WayBox, gap: number) {
  return { x: box.x, y: box.y + box.height + gap }
}

function inSeries(boxes: readonly WayBox[], share: number): readonly WayLink[] {
  return boxes.slice(1).map((box, index) => linkOf(boxes[index] ?? box, box, share, ''))
}

/** The line from the lower edge of one box to the upper edge of another; bent if one is not above the other. */
function linkOf(from: WayBox, to: WayBox, share: number, label = formatShare(share)): WayLink {
  const [x1, y1] = [from.x + from.width / 2, from.y + from.height]
  const [x2, y2] = [to.x + to.width / 2, to.y]
  const bend = (y1 + y2) / 2
  const path =
    x1 === x2 ? `M${x1} ${y1}V${y2}` : `M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}`
  const isLeft = x2 < x1
  const labelX = isLeft ? x2 - 6 : x2 + 6
  return { path, share, label: share === 1 ? '' : label, labelX, labelY: y2 - 8, isLeft }
}

/**
 * Text in at most `maxLines` lines of at most `width` characters, broken between words if possible; the rest is cut.
 */
export function wrapText(text: string, width: number, maxLines: number): readonly string[] {
  const lines: string[] = []
  let rest = text.trim()
  while (rest !== '' && lines.length < maxLines) {
    if (rest.length <= width) return [...lines, rest]
    const space = rest.lastIndexOf(' ', width)
    const end = space > width / 2 ? space : width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trim()
  }
  if (rest === '') return lines
  const last = lines.pop() ?? ''
  return [...lines, `${last.slice(0, width - 1)}…`]
}

/** Steps at one place: a hook of one table, a routing decision. */
interface Stage {
  readonly where: string
  readonly steps: readonly StepDocument[]
}

/** The further path of a part of the packets, after the path that all of them share. */
interface Branch {
  readonly stages: readonly Stage[]
  readonly outcome: OutcomeDocument
}

/** The path of the packets: what happens to all of them, and then to each part. */
interface ExplainedWay {
  readonly trunk: readonly Stage[]
  readonly branches: readonly Branch[]
}

/** The way that the outcomes of one packet have in common, the likeliest outcome first. */
export function explainedWay(observed: readonly OutcomeDocument[]): ExplainedWay {
  const sorted = observed.toSorted((a, b) => b.probability - a.probability)
  const common = commonSteps(sorted.map(({ steps }) => steps))
  return {
    trunk: stagesOf(sorted[0]?.steps.slice(0, common) ?? []),
    branches: sorted.map((outcome) => ({ outcome, stages: stagesOf(outcome.steps.slice(common)) })),
  }
}

/** How many steps all of them begin with. */
function commonSteps(all: readonly (readonly StepDocument[])[]): number {
  const [first = [], ...others] = all
  const names = others.map((steps) => steps.map(nameOf))
  const end = first.findIndex((step, index) => names.some((one) => one[index] !== nameOf(step)))
  return end === -1 ? first.length : end
}

function nameOf({ where, object = '', text }: StepDocument): string {
  return [where, object, text].join('\n')
}

function stagesOf(steps: readonly StepDocument[]): readonly Stage[] {
  const stages: { where: string; steps: StepDocument[] }[] = []
  for (const step of steps) {
    const last = stages.at(-1)
    if (last?.where === step.where) last.steps.push(step)
    else stages.push({ where: step.where, steps: [step] })
  }
  return stages
}

/** The packet as a sentence. */
export function packetWords(explanation: ExplanationDocument): string {
  const { src, dst, port, protocol, inInterface } = explanation
  const from = src ?? 'a process of this node'
  const by = inInterface === null ? '' : `, by ${inInterface}`
  return `${protocol} from ${from}${by}, to ${hostPort(dst, port)}`
}

/** An outcome as a heading and its details. */
export function outcomeWords(outcome: OutcomeDocument): readonly [head: string, details: string] {
  const { kind, dst, src = '', to, outInterface, how = '', by = '', reason = '' } = outcome
  switch (kind) {
    case 'delivered': {
      const where = to === 'local' ? 'on this node' : `leaves by ${outInterface ?? 'a route'}`
      const ends = dst === undefined ? '' : hostPort(dst.ip, dst.port)
      return [ends, `sees ${src}, ${where}`]
    }
    case 'refused':
      return ['refused', how]
    case 'silent':
      return ['no answer', by]
    case 'uncertain':
      return ['not known', reason]
  }
}

/** An outcome as a sentence. */
export function outcomeSentence(outcome: OutcomeDocument): string {
  const [head, details] = outcomeWords(outcome)
  return `${formatShare(outcome.probability)}: ${head}${details === '' ? '' : `, ${details}`}`
}

/** A step in one line: the rule, and what it does unless the text of the rule contains that. */
export function stepWords({ object, text }: StepDocument): string {
  if (object === undefined) return text
  return ` ${object} `.includes(` ${text} `) ? object : `${object} → ${text}`
}

/** What the rule of a step has counted so far; empty: it counts nothing. */
export function counterWords({ counter }: StepDocument): string {
  return counter === undefined ? '' : `${formatCount(Number(counter.packets))} packets so far`
}

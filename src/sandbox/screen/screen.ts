import type { SliceState } from '../cluster/cluster-state.ts'
import type { Reply } from '../environment/request.ts'
import { byHand, cell, type Line, paint, type SentRequest, type Span, type View } from './view.ts'

/** A part of the screen. If there is no space for all of its lines, its last lines are left out. */
export interface Section {
  readonly lines: readonly Line[]
  /** Whether the section is left out as a whole on a small screen. */
  readonly optional?: boolean
  /** The lines of the section when it may use `more` rows than it has lines. */
  readonly grow?: (more: number) => readonly Line[]
}

export interface Size {
  readonly columns: number
  readonly rows: number
}

const MIN_REQUESTS = 3
const BAR = 30
/** Width for three pods, or one address with its node. */
const WIDE = 26

/**
 * The whole screen as painted lines: at most `rows`, each at most `columns` wide.
 * The keys are always the last line.
 */
export function renderScreen(view: View, { columns, rows }: Size): readonly string[] {
  const sections: readonly Section[] = [
    { lines: title(view) },
    { lines: services(view) },
    { lines: pods(view) },
    {
      lines: requests(view, MIN_REQUESTS),
      grow: (more) => requests(view, MIN_REQUESTS + more),
    },
    { lines: byHand(view, columns) },
    { lines: log(view), optional: true },
  ]
  return [...fit(sections, rows - 1), keys(view)].map((line) => paint(line, columns))
}

function title({ mode, upMs, outcomes, daemonPid }: View): readonly Line[] {
  const count = (kind: Reply['kind']): number => outcomes.get(kind) ?? 0
  const seconds = Math.floor(upMs / 1000)
  const up = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
  const daemon: Span =
    daemonPid === undefined
      ? { text: 'node-proxy is not running', look: 'bad' }
      : { text: `node-proxy ${daemonPid} in ${mode} mode`, look: 'good' }
  const counts = (['answered', 'refused', 'silent', 'failed'] as const)
    .map((kind) => `${count(kind)} ${kind}`)
    .join(', ')
  return [[{ text: 'sandbox  ', look: 'head' }, daemon, { text: `  up ${up}  ${counts}` }]]
}

function services({ services: rows, backends }: View): readonly Line[] {
  const head = `${cell('SERVICE', 13)}${cell('BACKENDS', WIDE)}${cell('ADDRESSES', 47)}KIND`
  const lines = rows.map((row): Line => {
    const own = backends.filter(({ service }) => service === row.name)
    return [
      { text: cell(row.name, 13), look: 'bold' },
      ...padded(backendSpans(own), WIDE),
      { text: cell(row.addresses.join(' '), 47) },
      { text: row.kind },
    ]
  })
  return [[{ text: head, look: 'dim' }], ...lines]
}

function backendSpans(rows: readonly SliceState[]): Line {
  const spans = [
    ...rows.flatMap(({ ready }) => ready).map((text): Span => ({ text: `${text} `, look: 'good' })),
    ...rows
      .flatMap(({ notReady }) => notReady)
      .map((text): Span => ({ text: `${text} `, look: 'bad' })),
  ]
  return spans.length === 0 ? [{ text: 'none ', look: 'warn' }] : spans
}

function padded(line: Line, width: number): Line {
  const used = line.reduce((sum, { text }) => sum + text.length, 0)
  return [...line, { text: ' '.repeat(Math.max(1, width + 1 - used)) }]
}

function pods({ pods: states, answersByPod }: View): readonly Line[] {
  const head = `${cell('POD', 6)}${cell('ADDRESS', 12)}${cell('PROCESS', 8)}${cell('STATE', 8)}ANSWERED`
  const most = Math.max(1, ...answersByPod.values())
  const lines = states.map(({ name, ip, ready, pid }): Line => {
    const count = answersByPod.get(name) ?? 0
    return [
      { text: cell(name, 6), look: 'bold' },
      { text: `${cell(ip, 12)}${cell(String(pid ?? '-'), 8)}` },
      { text: cell(ready ? 'ready' : 'dead', 8), look: ready ? 'good' : 'bad' },
      { text: '█'.repeat(Math.round((count / most) * BAR)), look: 'good' },
      { text: ` ${count}` },
    ]
  })
  return [[{ text: head, look: 'dim' }], ...lines]
}

function requests({ sent }: View, rows: number): readonly Line[] {
  const lines = sent.slice(-rows).map(requestLine)
  const blanks = Array.from({ length: rows - lines.length }, (): Line => [])
  return [[{ text: 'REQUESTS, the newest last', look: 'dim' }], ...lines, ...blanks]
}

/** One request of the stream as a line: time, sender, Service and outcome. */
export function requestLine({ at, request, reply }: SentRequest): Line {
  const time = new Date(at).toISOString().slice(11, 19)
  const from = request.source ?? request.from
  return [
    { text: `${time} `, look: 'dim' },
    { text: `${cell(from, 10)}→ ${cell(request.service, 13)}` },
    ...padded([outcome(reply)], 22),
    { text: `${cell(`${Math.round(reply.ms)} ms`, 7)}${request.url}`, look: 'dim' },
  ]
}

function outcome(reply: Reply): Span {
  switch (reply.kind) {
    case 'answered':
      return { text: `${reply.pod} saw ${reply.saw}`, look: reply.lost > 0 ? 'warn' : 'good' }
    case 'refused':
    case 'silent':
      return { text: reply.kind, look: 'warn' }
    case 'api':
      return { text: `API: ${reply.status}`, look: reply.status < 400 ? 'good' : 'warn' }
    case 'failed':
      return { text: `failed: ${reply.code}`, look: 'bad' }
  }
}

function log({ daemonLog }: View): readonly Line[] {
  const lines = daemonLog.map((text): Line => [{ text: `  ${text}`, look: 'dim' }])
  return [[{ text: 'NODE-PROXY SAYS', look: 'dim' }], ...lines]
}

function keys({ notice }: View): Line {
  return [
    { text: '+ -', look: 'bold' },
    { text: ' scale web-public   ' },
    { text: '1 2 3', look: 'bold' },
    { text: ' kill or start a pod   ' },
    { text: 'd', look: 'bold' },
    { text: ' roll out the Deployment catalog   ' },
    { text: 'q', look: 'bold' },
    { text: ' quit   ' },
    { text: notice, look: 'warn' },
  ]
}

/**
 * The sections one below the other, in at most `rows` lines. If they do not fit, the following is left out, in this
 * order: optional sections, the blank lines between sections, the last lines of the last section.
 */
export function fit(sections: readonly Section[], rows: number): readonly Line[] {
  const needed = sections.filter(({ optional }) => optional !== true)
  const shown = height(sections) <= rows ? sections : needed
  const spare = rows - height(shown)
  if (spare < 0) return needed.flatMap(({ lines }) => lines).slice(0, rows)
  return shown.flatMap(({ lines, grow }) => [...(grow?.(spare) ?? lines), []]).slice(0, -1)
}

/** Lines of all sections with one blank between two. */
function height(sections: readonly Section[]): number {
  return sections.reduce((sum, { lines }) => sum + lines.length + 1, -1)
}

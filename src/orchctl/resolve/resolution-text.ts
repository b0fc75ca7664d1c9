import { columns } from '../output/columns.ts'
import { oneLine } from '../output/terminal-text.ts'
import type { Candidate, Origin, Resolution, ShownResolver, TypeAnswer } from './resolution.ts'

/** The resolution for people: the resolver, each name with its records or the reason, and what follows. */
export function resolutionText({
  name,
  resolver,
  candidates,
  resolved,
  hints,
}: Resolution): string {
  const result =
    resolved === '' ? unresolved(name, candidates) : `${name} resolves, as ${resolved}.`
  const lines = [result, ...hints.map((hint) => `  ${hint}`)]
  const names = candidates.map(candidateText).join('')
  return `${resolverText(resolver)}\n${names}\n${lines.map((line) => `${oneLine(line)}\n`).join('')}`
}

function unresolved(name: string, candidates: readonly Candidate[]): string {
  const isForwarded = candidates.some(({ answers }) =>
    answers.some(({ status, server }) => status === 'FORWARDED' && server === null),
  )
  return isForwarded
    ? `${name} does not resolve in the cluster; of other names other servers decide.`
    : `${name} does not resolve.`
}

function resolverText(resolver: ShownResolver): string {
  const { pod, node, dnsPolicy, nameservers, searches, options, notes } = resolver
  const place = node === '' ? '' : ` on node ${node}`
  const servers = { cluster: 'that of the cluster', node: 'those of the node', pod: 'none' }
  const rows = [
    ['Pod:', pod === '' ? 'any of the namespace' : `${pod}${place}`],
    ['DNS policy:', dnsPolicy],
    ['Nameservers:', nameservers.join(' ') || servers[resolver.servers]],
    ['Search:', searches.join(' ') || '<none>'],
    ['Options:', options.join(' ') || '<none>'],
    ...notes.map((note) => ['Note:', note]),
  ]
  return columns(rows)
}

function candidateText({ name, queried, answers }: Candidate): string {
  if (!queried) return `${oneLine(name)}.   not queried\n`
  const rows = folded(answers).flatMap((answer) => rowsOf(answer, name))
  const table = columns(rows)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => `  ${line}\n`)
  return `${oneLine(name)}.\n${table.join('')}`
}

/** A and AAAA are one row when both are denied for the same reason. */
function folded(answers: readonly TypeAnswer[]): readonly TypeAnswer[] {
  const [first, ...more] = answers
  const isSame = (one: TypeAnswer): boolean =>
    one.records.length === 0 && one.server === null && one.reason === first?.reason
  if (first === undefined || !answers.every(isSame)) return answers
  return [{ ...first, type: [first, ...more].map(({ type }) => type).join(' ') }]
}

function rowsOf(answer: TypeAnswer, candidate: string): readonly (readonly string[])[] {
  const { type, status, records, reason, server } = answer
  const own = records.map((record) => {
    const alias = record.name === candidate ? '' : `${record.name}: `
    return [record.type, record.data, alias + originText(record.origin)]
  })
  const denial = status === 'NOERROR' ? [] : [[type, status, reason]]
  return [...own, ...denial, ...(server === null ? [] : serverRows(type, server))]
}

function serverRows(
  type: string,
  { status, records, difference }: NonNullable<TypeAnswer['server']>,
): readonly (readonly string[])[] {
  const verdict = difference === '' ? 'as it should be' : `DIFFERENT: ${difference}`
  return [[type, `server: ${status}`, `${records.length} records, ${verdict}`]]
}

function originText({ kind, name, field, pod }: Origin): string {
  const place = field === '' ? '' : ` ${field}`
  return `${kind} ${name}${place}${pod === '' ? '' : `, Pod ${pod}`}`
}

import { printable } from '../../../../client/printable.ts'
import { type NodePlan, type PlannedObject, wouldChange } from './node-plan.ts'

const SIGNS = { add: '+', change: '~', remove: '-' } as const
const COLOURS = { '+': '32', '~': '33', '-': '31' } as const
/** Lines of one object; a chain may have thousands. */
const MAX_LINES = 20

type Sign = keyof typeof COLOURS

/** A plan for people: what changes in all, then object by object. `coloured`: for a terminal. */
export function planText(plan: NodePlan, coloured: boolean): string {
  const mark = (sign: Sign, text: string) =>
    coloured ? `\u001b[${COLOURS[sign]}m${sign} ${text}\u001b[0m` : `${sign} ${text}`
  const sections = [
    ...plan.services.map(({ service, objects }) => section(service, objects, mark)),
    ...(plan.shared.length > 0 ? [section('of all Services, or of none', plan.shared, mark)] : []),
    restOf(plan),
  ]
  const lines = sections.flatMap((one) => (one.length > 0 ? ['', ...one] : []))
  return `${[...summaryOf(plan), ...lines].join('\n')}\n`
}

type Mark = (sign: Sign, text: string) => string

function summaryOf(plan: NodePlan): readonly string[] {
  const { mode, nodeName, set, unset, services, flowCount, cleanups } = plan
  const head = `mode ${mode} on ${printable(nodeName)}: `
  if (!wouldChange(plan)) return [`${head}the kernel has everything; nothing would change`]
  const touched = count(services.length, 'Service')
  return [
    `${head}${count(set, 'object')} to set, ${unset} to remove, ${touched} touched`,
    ...(flowCount > 0 ? [`${count(flowCount, 'conntrack entry')} to delete`] : []),
    ...cleanups.map(({ mode: other, drains, objects }) => {
      const kinds = Object.entries(objects).map(([kind, number]) => `${number} ${kind}`)
      const first = drains ? 'its connections drain, and then ' : ''
      return `when mode ${mode} is complete, mode ${other} goes: ${first}${kinds.join(', ')} are removed`
    }),
  ]
}

function section(title: string, objects: readonly PlannedObject[], mark: Mark): readonly string[] {
  return [title, ...objects.flatMap((object) => objectLines(object, mark))]
}

function objectLines(object: PlannedObject, mark: Mark): readonly string[] {
  const { action, kind, key, before, after } = object
  const title = `  ${mark(SIGNS[action], `${kind} ${printable(key)}`)}`
  const lines = [
    ...without(before, after).map((line) => `      ${mark('-', printable(line))}`),
    ...without(after, before).map((line) => `      ${mark('+', printable(line))}`),
  ]
  const more = lines.length - MAX_LINES
  return [
    title,
    ...lines.slice(0, MAX_LINES),
    ...(more > 0 ? [`      and ${more} more lines`] : []),
  ]
}

/** The lines of one side that the other one does not have, each as often as it is missing there. */
function without(lines: readonly string[] = [], others: readonly string[] = []): readonly string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at < 0) return true
    left.splice(at, 1)
    return false
  })
}

function restOf({ flows, problems, caveats, notes }: NodePlan): readonly string[] {
  return [
    ...flows.map((one) => `deleted: ${count(one.count, 'conntrack entry')} to ${one.frontend}`),
    ...problems.map(({ entry, code, message }) => `not served: ${entry}: ${message} (${code})`),
    ...caveats.map(({ code, what, remedy }) => `caveat: ${what}; ${remedy} (${code})`),
    ...notes.map((note) => `note: ${note}`),
  ].map(printable)
}

function count(number: number, what: string): string {
  const several = what.endsWith('y') ? `${what.slice(0, -1)}ies` : `${what}s`
  return `${number} ${number === 1 ? what : several}`
}

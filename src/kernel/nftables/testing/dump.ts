import type { Expression } from '../expression.ts'
import type { Rule } from '../objects.ts'
import type { HeldElement } from './element-store.ts'
import type { FakeTable } from './fake-table.ts'

/** A text for each object and each element of a table, sorted: equal for equal tables. */
export function dumpTable(
  { table, owner, isPersistent, chains, sets }: FakeTable,
  hasElements: (set: string) => boolean,
): readonly string[] {
  const name = `${table.family} ${table.name}`
  const flags = [...(owner === undefined ? [] : ['owned']), ...(isPersistent ? ['persistent'] : [])]
  const lines = [[name, ...flags].join(' ')]
  for (const [chain, { spec, rules }] of chains) {
    const texts = rules.map(({ rule }) => textOfRule(rule))
    lines.push([`${name} chain ${chain} ${JSON.stringify(spec)}`, ...texts].join('\n  '))
  }
  for (const [set, { spec, store }] of sets) {
    lines.push(`${name} set ${set} ${JSON.stringify(spec, Object.keys(spec).toSorted())}`)
    if (!hasElements(set)) continue
    for (const held of store.all()) lines.push(`${name} element ${set} ${textOfElement(held)}`)
  }
  return lines.toSorted()
}

function textOfElement({ element, endsRange, timeout }: HeldElement): string {
  const { key, keyEnd, data, comment } = element
  const words = [key.toString('hex')]
  if (endsRange) words.push('behind')
  if (keyEnd) words.push('to', keyEnd.toString('hex'))
  if (Buffer.isBuffer(data)) words.push(':', data.toString('hex'))
  else if (data) words.push(':', data.kind, 'chain' in data ? data.chain : '')
  if (timeout > 0) words.push('for', String(timeout))
  if (comment !== undefined) words.push(JSON.stringify(comment))
  return words.join(' ')
}

function textOfRule({ expressions, comment }: Rule): string {
  return `${expressions.map(textOfExpression).join(' ')} ${comment ?? ''}`
}

function textOfExpression(one: Expression): string {
  return JSON.stringify(one, (_, value: unknown) =>
    isBytes(value) ? Buffer.from(value.data).toString('hex') : value,
  )
}

/** Recognises the output of `Buffer.toJSON`, which `JSON.stringify` calls first. */
function isBytes(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.data)
}

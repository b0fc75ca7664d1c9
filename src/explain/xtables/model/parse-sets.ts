import type { IpSet, SetElement } from './ip-set.ts'

/** Parses the output of `ipset save`. */
export function parseSets(listing: string): ReadonlyMap<string, IpSet> {
  const sets = new Map<string, IpSet & { readonly elements: SetElement[] }>()
  for (const line of listing.split('\n')) {
    const [command, name = '', value = '', ...options] = line.trim().split(' ')
    if (command === 'create') {
      sets.set(name, { name, type: value, elements: [], isTemporary: options.includes('timeout') })
    }
    if (command === 'add') sets.get(name)?.elements.push(elementOf(value, options))
  }
  return sets
}

function elementOf(text: string, options: readonly string[]): SetElement {
  return {
    text,
    parts: text.split(','),
    isException: options.includes('nomatch'),
    secondsLeft: secondsOf(options),
    mark: markOf(options[options.indexOf('skbmark') + 1], options.includes('skbmark')),
  }
}

/** `timeout 0` stands for an element that stays in a set of others that do not. */
function secondsOf(options: readonly string[]): number | undefined {
  const at = options.indexOf('timeout')
  const seconds = at < 0 ? 0 : Number(options[at + 1])
  return seconds > 0 ? seconds : undefined
}

function markOf(text: string | undefined, isThere: boolean): SetElement['mark'] {
  if (!isThere || text === undefined) return undefined
  const [value = '0', mask = '0xffffffff'] = text.split('/')
  return { value: Number(value), mask: Number(mask) }
}

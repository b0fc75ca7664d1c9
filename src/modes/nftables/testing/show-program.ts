import type { ForwardingEntry } from '../../../forwarding/entry.ts'
import type { SetSpec } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { baseChains } from '../program/base-chains.ts'
import { baseSets } from '../program/base-sets.ts'
import { render } from '../program/render.ts'
import { RuleText } from './show-rule.ts'
import { showElements } from './show-value.ts'

/** The rules of each fixed chain. */
export function showBase(
  given: NetfilterSettings,
  family: Family,
): Readonly<Record<string, readonly string[]>> {
  const text = new RuleText(setsOf(given, family))
  return Object.fromEntries(
    baseChains(given, family).map(({ name, rules }) => [name, rules.map((rule) => text.of(rule))]),
  )
}

/** Everything that one entry has in the kernel; hashes in names are replaced by `#`. */
export interface ShownEntry {
  readonly elements: readonly string[]
  /** Elements of sets that belong to the entry alone, by set. */
  readonly sets: Readonly<Record<string, readonly string[]>>
  readonly chains: Readonly<Record<string, readonly string[]>>
  readonly choices: readonly string[]
}

export function showEntry(entry: ForwardingEntry, given: NetfilterSettings): ShownEntry {
  const { objects, choices } = render(entry, given)
  const contents = [...objects.values()]
  const own = contents.filter((content) => content.kind === 'set')
  const sets = new Map([
    ...setsOf(given, entry.family),
    ...own.map(({ name, spec }) => [name, spec] as const),
  ])
  const text = new RuleText(sets)
  const frontends = contents.filter((content) => content.kind === 'frontend')
  const chains = contents.filter((content) => content.kind === 'chain')
  return {
    elements: frontends.flatMap(({ elements }) => showElements(elements, sets)).map(short),
    sets: Object.fromEntries(
      own.map(({ name, elements }) => {
        const placed = elements.map((element) => ({ set: name, element }))
        return [short(name), showElements(placed, sets).map((one) => one.slice(name.length + 1))]
      }),
    ),
    chains: Object.fromEntries(
      chains.map(({ name, rules }) => [short(name), rules.map((rule) => short(text.of(rule)))]),
    ),
    choices: [...choices],
  }
}

function setsOf(given: NetfilterSettings, family: Family): ReadonlyMap<string, SetSpec> {
  return new Map(baseSets(given, family).map(({ name, spec }) => [name, spec]))
}

function short(text: string): string {
  return text.replaceAll(/(affinity|backends|pods|remember|sticky)-[\w-]{19}/g, '$1-#')
}

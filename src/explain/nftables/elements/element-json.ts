import type { Element } from '../../../kernel/nftables/objects.ts'
import type { Verdict } from '../../../kernel/nftables/verdict.ts'
import type { Json } from '../model/json.ts'
import type { Registers } from './registers.ts'

const MS_PER_SECOND = 1_000

/** An element as nft prints it, of a map as a pair. `values`: absent, data are verdicts. */
export function elementJson(element: Element, keys: Registers, values?: Registers): Json {
  const { data } = element
  const key = withTimes(keys.read(element.key), element)
  if (data === undefined) return key
  if (!Buffer.isBuffer(data)) return [key, verdictJson(data)]
  return [key, values?.read(data) ?? null]
}

function withTimes(val: Json, { timeout, expires }: Element): Json {
  if (timeout === undefined && expires === undefined) return val
  const times = {
    ...(timeout === undefined ? {} : { timeout: seconds(timeout) }),
    ...(expires === undefined ? {} : { expires: seconds(expires) }),
  }
  return { elem: { val, ...times } }
}

function seconds(ms: number): number {
  return Math.floor(ms / MS_PER_SECOND)
}

function verdictJson(verdict: Verdict): Json {
  const { kind } = verdict
  return kind === 'jump' || kind === 'goto'
    ? { [kind]: { target: verdict.chain } }
    : { [kind]: null }
}

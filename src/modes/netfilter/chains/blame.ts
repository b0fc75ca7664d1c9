import type { RestoreResult } from '../../../kernel/iptables/iptables.ts'
import type { ObjectKey } from '../../mode.ts'
import { keyOf } from './object.ts'
import type { Commit } from './plan.ts'
import { type Contents, type Line, restoreLines } from './restore-text.ts'

/** Which objects of a refused commit are at fault. */
export interface Blame {
  /** Objects of the commit that the kernel refused; empty when its message names none. */
  readonly faulty: readonly ObjectKey[]
  /** A chain of ours that rules lead to and the kernel does not hold. */
  readonly missing: ObjectKey | undefined
}

/** What the fault is looked for with. */
export interface BlameContext {
  /** Of our chains' names. */
  readonly prefix: string
  readonly contents: Contents
  /** Commits of the same text that took effect before; `contents` must not know of it yet. */
  readonly done: readonly Commit[]
}

/**
 * Reads from the message of iptables which objects of the refused commit are at fault. A
 * single object always is; where neither a chain nor a usable line is named (the
 * legacy variant reports only that the COMMIT failed) none can be found.
 */
export function blame(
  commit: Commit,
  failure: Extract<RestoreResult, { ok: false }>,
  context: BlameContext,
): Blame {
  const keys = [...commit.stubs, ...commit.set, ...commit.unset]
  const absent = missingChain(failure.message, context.prefix)
  if (absent !== undefined) {
    const missing = chainKey(commit, absent)
    if (!keys.includes(missing)) return { faulty: [], missing }
  }
  const named = chainsAtFault(failure.message, context.prefix).map((chain) =>
    chainKey(commit, chain),
  )
  const faulty = keys.filter((key) => named.includes(key))
  if (faulty.length > 0) return { faulty, missing: undefined }
  if (keys.length === 1) return { faulty: keys, missing: undefined }
  const key = failure.line === undefined ? undefined : lineAt(failure.line, commit, context)?.key
  return { faulty: key === undefined ? [] : [key], missing: undefined }
}

/**
 * `Chain 'NAME' does not exist`: nft. `goto 'NAME' is not a chain` and ``Couldn't
 * load target `NAME'``: legacy.
 */
function missingChain(message: string, prefix: string): string | undefined {
  const pattern = String.raw`\b(?:[Cc]hain|goto|target) ['\`](${prefix}[\w-]+)'`
  return new RegExp(pattern).exec(message)?.[1]
}

/**
 * `RULE_APPEND failed (…): rule in chain NAME`, `CHAIN_DEL failed (…): chain NAME`: nft.
 * Of several the last is left out: the message may have been cut in the middle of its name.
 */
function chainsAtFault(message: string, prefix: string): readonly string[] {
  const pattern = new RegExp(String.raw`\bchain (${prefix}[\w-]+)`, 'g')
  const names = [...message.matchAll(pattern)].map(([, name = '']) => name)
  return names.length > 1 ? names.slice(0, -1) : names
}

function chainKey({ family, table }: Commit, chain: string): ObjectKey {
  return keyOf({ kind: 'chain', family, table, chain })
}

function lineAt(
  number: number,
  commit: Commit,
  { contents, done }: BlameContext,
): Line | undefined {
  let before = 0
  for (const each of done) for (const _ of restoreLines(each, contents)) before++
  return [...restoreLines(commit, contents)][number - before - 1]
}

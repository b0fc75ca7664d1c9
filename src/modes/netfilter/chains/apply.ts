import type { Iptables, RestoreResult } from '../../../kernel/iptables/iptables.ts'
import type { Family } from '../../../lib/ip.ts'
import type { KernelError, ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import { keyOf, objectOf } from './object.ts'
import type { Commit } from './plan.ts'

type Failure = Extract<RestoreResult, { ok: false }>

/** What the lines of a commit are made of. */
interface Contents extends Pick<ChainContents, 'rulesOf'> {
  /** How many times the kernel has this jump in its built-in chain now. */
  countOf(key: ObjectKey): number
}

/** The parameters for writing one change. */
export interface ApplyContext {
  /** The prefix of our chains' names. */
  readonly prefix: string
  readonly iptables: Iptables
  readonly contents: Contents
  /** Whether the kernel is known to hold the chain. */
  exists(key: ObjectKey): boolean
  /**
   * Called after each run of `iptables-restore`. By its pid and number of commits, notifications of the kernel about
   * these writes are told apart from those about other processes.
   */
  wrote(result: Pick<RestoreResult, 'pid' | 'commits'>): void
  /** Called with the commits that took effect, before the next ones are written. May change `contents`. */
  done(commits: readonly Commit[]): void
}

/** The result of one change. */
export interface Applied {
  /** The objects that were not written or removed, and why. */
  readonly failed: Map<ObjectKey, KernelError>
  /** Chains that are now empty: their rules were refused, or they could not be deleted. */
  readonly emptied: Set<ObjectKey>
  /** Whether it is unknown which of the failed commits took effect. */
  uncertain: boolean
}

/**
 * Programs the commits of one family, in one process if no error occurs. If the kernel refuses a commit, the objects at
 * fault are left out and the rest is tried again, so that one bad object does not prevent the others.
 */
export async function applyCommits(
  family: Family,
  commits: readonly Commit[],
  context: ApplyContext,
): Promise<Applied> {
  const applied: Applied = { failed: new Map(), emptied: new Set(), uncertain: false }
  let left = commits
  while (left.length > 0) {
    const result = await context.iptables.restore(family, textOf(left, context.contents))
    context.wrote(result)
    if (result.ok) {
      finish(left, { context, applied })
      break
    }
    left = afterFailure(left, result, { context, applied })
  }
  return applied
}

/** The parameters and the result so far. */
interface Progress {
  readonly context: ApplyContext
  readonly applied: Applied
}

/**
 * Returns the commits that are still to be written after a failure. They have fewer objects than before, or the refused
 * commit is divided, or has one more stub; so the repetition ends.
 */
function afterFailure(
  commits: readonly Commit[],
  failure: Failure,
  progress: Progress,
): readonly Commit[] {
  if (failure.commits === undefined) {
    progress.applied.uncertain = true
    return giveUp(commits, failure, progress)
  }
  const done = commits.slice(0, failure.commits)
  const [refused, ...rest] = commits.slice(failure.commits)
  // The faults are determined before `finish`, because that changes the text of commits, by which lines are found.
  const { contents, prefix } = progress.context
  const faults = refused && blame(refused, failure, { contents, prefix, done })
  finish(done, progress)
  if (refused === undefined || faults === undefined) return []
  if (failure.kind !== 'refused') return giveUp([refused, ...rest], failure, progress)
  if (faults.missing) {
    return [{ ...refused, stubs: [...refused.stubs, faults.missing] }, ...rest]
  }
  if (faults.faulty.length === 0) return [...halves(refused, failure, progress), ...rest]
  for (const object of faults.faulty) progress.applied.failed.set(object, refusal(failure))
  return [without(refused, faults.faulty, progress.context), ...rest].filter(hasWork)
}

/** Reports commits that took effect. */
function finish(commits: readonly Commit[], { context, applied }: Progress): void {
  context.done(commits)
  for (const { stubs } of commits) for (const key of stubs) applied.emptied.add(key)
}

/** Records the failure for all objects of the commits. Nothing is left to do. */
function giveUp(
  commits: readonly Commit[],
  failure: Failure,
  { applied }: Progress,
): readonly Commit[] {
  for (const commit of commits) {
    for (const key of [...commit.set, ...commit.unset]) applied.failed.set(key, refusal(failure))
    // What a chain is created empty for may have failed before, with a better reason.
    for (const key of commit.stubs) {
      if (!applied.failed.has(key)) applied.failed.set(key, refusal(failure))
    }
  }
  return []
}

/**
 * The commit without the faulty objects. A faulty chain that does not exist yet is created empty, because others may
 * lead to it. A faulty chain that could not be deleted is emptied, so that the chains it led to can be deleted.
 */
function without(commit: Commit, faulty: readonly ObjectKey[], context: ApplyContext): Commit {
  const keep = (keys: readonly ObjectKey[]) => keys.filter((key) => !faulty.includes(key))
  const chains = faulty.filter((key) => objectOf(key).kind === 'chain')
  const stubs = chains.filter((key) =>
    commit.set.includes(key) ? !context.exists(key) : commit.unset.includes(key),
  )
  return {
    ...commit,
    set: keep(commit.set),
    unset: keep(commit.unset),
    stubs: [...keep(commit.stubs), ...stubs],
  }
}

/**
 * Divides a commit if iptables did not report which object is at fault: into the first half of the objects to write,
 * the second half with the first half of the removals, and the other removals. The stubs stay in the first part. A
 * commit of one object is given up.
 */
function halves(commit: Commit, failure: Failure, progress: Progress): readonly Commit[] {
  const { set, unset } = commit
  if (set.length + unset.length <= 1) return giveUp([commit], failure, progress)
  const setHalf = Math.ceil(set.length / 2)
  const unsetHalf = Math.ceil(unset.length / 2)
  return [
    { ...commit, set: set.slice(0, setHalf), unset: [] },
    { ...commit, set: set.slice(setHalf), unset: unset.slice(0, unsetHalf), stubs: [] },
    { ...commit, set: [], unset: unset.slice(unsetHalf), stubs: [] },
  ].filter(hasWork)
}

function hasWork({ set, unset, stubs }: Commit): boolean {
  return set.length + unset.length + stubs.length > 0
}

const CODES = {
  refused: 'NP_IPTABLES_REFUSED',
  locked: 'NP_IPTABLES_LOCKED',
  timeout: 'NP_IPTABLES_TIMEOUT',
  missing: 'NP_IPTABLES_MISSING',
} as const

function refusal(failure: Failure): KernelError {
  return { code: CODES[failure.kind], message: failure.message }
}

/** The length of the pieces of text, in UTF-16 code units; the last line of a piece may exceed it. */
const PIECE_CHARS = 256 * 1024

/** The text of the commits, in pieces, so that the text of a large commit is never in memory as a whole. */
function* textOf(commits: readonly Commit[], contents: Contents): Generator<string> {
  let piece = ''
  for (const commit of commits) {
    for (const { text } of restoreLines(commit, contents)) {
      piece += `${text}\n`
      if (piece.length < PIECE_CHARS) continue
      yield piece
      piece = ''
    }
  }
  yield piece
}

/** Which objects of a refused commit are at fault. */
interface Blame {
  /** Objects of the commit that the kernel refused; empty when its message names none. */
  readonly faulty: readonly ObjectKey[]
  /** A chain of ours to which rules of the commit lead, but which neither the kernel nor the commit has. */
  readonly missing: ObjectKey | undefined
}

/** The inputs for finding the fault. */
interface BlameContext {
  /** The prefix of our chains' names. */
  readonly prefix: string
  readonly contents: Contents
  /** The commits before it in the same text, which took effect. `contents` must not reflect them yet. */
  readonly done: readonly Commit[]
}

/**
 * Determines from the message of iptables which objects of the refused commit are at fault. If the commit has only one
 * object, that one is. Otherwise none can be found if the message names neither a chain nor the line of an object: the
 * legacy variant may report only that the COMMIT failed.
 */
export function blame(commit: Commit, failure: Failure, context: BlameContext): Blame {
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
 * The name of the chain that the message reports as missing. The nft variant reports `Chain 'NAME' does not exist`, the
 * legacy variant `goto 'NAME' is not a chain` or ``Couldn't load target `NAME'``.
 */
function missingChain(message: string, prefix: string): string | undefined {
  const pattern = String.raw`\b(?:[Cc]hain|goto|target) ['\`](${prefix}[\w-]+)'`
  return new RegExp(pattern).exec(message)?.[1]
}

/**
 * The names of the chains that the message reports. The nft variant reports
 * `RULE_APPEND failed (…): rule in chain NAME` or `CHAIN_DEL failed (…): chain NAME`. If there are several chains, the
 * last one is left out, because the message may have been cut in the middle of its name.
 */
function chainsAtFault(message: string, prefix: string): readonly string[] {
  const pattern = new RegExp(String.raw`\bchain (${prefix}[\w-]+)`, 'g')
  const names = [...message.matchAll(pattern)].map(([, name = '']) => name)
  return names.length > 1 ? names.slice(0, -1) : names
}

function chainKey({ family, table }: Commit, chain: string): ObjectKey {
  return keyOf({ kind: 'chain', family, table, chain })
}

/** The line of `commit` that has this 1-based number in the text that began with the commits of `done`. */
function lineAt(
  number: number,
  commit: Commit,
  { contents, done }: BlameContext,
): Line | undefined {
  let before = 0
  for (const each of done) for (const _ of restoreLines(each, contents)) before++
  return [...restoreLines(commit, contents)][number - before - 1]
}

/** A line of the text for `iptables-restore`, and the object that it is about; undefined for `*TABLE` and `COMMIT`. */
interface Line {
  readonly text: string
  readonly key: ObjectKey | undefined
}

/**
 * The text of one commit for `iptables-restore --noflush`. Every chain is declared first, which creates or empties it.
 * Chains in `set` are filled in the same transaction, so that no packet finds them empty.
 */
export function* restoreLines(commit: Commit, contents: Contents): Generator<Line> {
  yield line(`*${commit.table}`)
  yield* [...commit.stubs, ...commit.set, ...commit.unset].flatMap(declare)
  for (const key of commit.set) yield* write(key, contents)
  for (const key of commit.unset) yield* erase(key, contents)
  yield line('COMMIT')
}

function line(text: string, key?: ObjectKey): Line {
  return { text, key }
}

function declare(key: ObjectKey): readonly Line[] {
  const object = objectOf(key)
  return object.kind === 'chain' ? [line(`:${object.chain} - [0:0]`, key)] : []
}

/** The rules of a chain; or the lines that make a jump the first rule of its chain, once. */
function* write(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind === 'chain') {
    for (const rule of contents.rulesOf(key) ?? []) yield line(`-A ${object.chain} ${rule}`, key)
  } else if (object.kind === 'jump') {
    yield* eraseJump(key, contents)
    yield line(`-I ${object.chain} 1 ${object.rule}`, key)
  }
}

/** The lines that remove an object; a chain was emptied by its declaration. */
function* erase(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind === 'chain') yield line(`-X ${object.chain}`, key)
  else yield* eraseJump(key, contents)
}

/** Removes a jump as many times as the kernel has it. */
function* eraseJump(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind !== 'jump') return
  for (let count = contents.countOf(key); count > 0; count--) {
    yield line(`-D ${object.chain} ${object.rule}`, key)
  }
}

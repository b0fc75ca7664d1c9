import type { Iptables, RestoreResult } from '../../../kernel/iptables/iptables.ts'
import type { Family } from '../../../lib/ip.ts'
import type { KernelError, ObjectKey } from '../../mode.ts'
import { blame } from './blame.ts'
import { objectOf } from './object.ts'
import type { Commit } from './plan.ts'
import { type Contents, restoreLines } from './restore-text.ts'

const PIECE_CHARS = 256 * 1024

type Failure = Extract<RestoreResult, { ok: false }>

/** What one change is written with. */
export interface ApplyContext {
  /** Of our chains' names. */
  readonly prefix: string
  readonly iptables: Iptables
  readonly contents: Contents
  /** Whether the kernel is known to hold the chain. */
  exists(key: ObjectKey): boolean
  /** Called after each process, with what the kernel's notifications will say of it. */
  wrote(result: Pick<RestoreResult, 'pid' | 'commits'>): void
  /** Called with the commits that took effect, as soon as they did. */
  done(commits: readonly Commit[]): void
}

/** What came of one change. */
export interface Applied {
  readonly failed: Map<ObjectKey, KernelError>
  /** Chains that now stand empty: their rules were refused, or they could not be deleted. */
  readonly emptied: Set<ObjectKey>
  /** It is unknown which of the failed commits took effect. */
  uncertain: boolean
}

/**
 * Programs the commits of one family, in one process if all goes well. When the
 * kernel refuses one, the object at fault is left out and the rest goes on: one
 * bad object never holds up the others.
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

interface Progress {
  readonly context: ApplyContext
  readonly applied: Applied
}

/** What is left to do after a failure; always less than before, or a stub more. */
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
  // Blamed before the commits are called done: that changes how their text reads.
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

function finish(commits: readonly Commit[], { context, applied }: Progress): void {
  context.done(commits)
  for (const { stubs } of commits) for (const key of stubs) applied.emptied.add(key)
}

function giveUp(
  commits: readonly Commit[],
  failure: Failure,
  { applied }: Progress,
): readonly Commit[] {
  for (const commit of commits) {
    for (const key of [...commit.set, ...commit.unset]) applied.failed.set(key, refusal(failure))
  }
  return []
}

/**
 * The commit without the faulty objects. A new chain that others lead to is at least
 * created; one that could not be deleted is emptied, so that it holds up nothing
 * that it led to.
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

/** Iptables does not report which object is at fault: try each half by itself. */
function halves(commit: Commit, failure: Failure, progress: Progress): readonly Commit[] {
  const { set, unset } = commit
  if (set.length + unset.length <= 1) return giveUp([commit], failure, progress)
  const middle = Math.ceil(set.length / 2)
  const half = Math.ceil(unset.length / 2)
  return [
    { ...commit, set: set.slice(0, middle), unset: [] },
    { ...commit, set: set.slice(middle), unset: unset.slice(0, half), stubs: [] },
    { ...commit, set: [], unset: unset.slice(half), stubs: [] },
  ].filter(hasWork)
}

function hasWork({ set, unset, stubs }: Commit): boolean {
  return set.length + unset.length + stubs.length > 0
}

function refusal(failure: Failure): KernelError {
  return { code: CODES[failure.kind], message: failure.message }
}

const CODES = {
  refused: 'NP_IPTABLES_REFUSED',
  locked: 'NP_IPTABLES_LOCKED',
  timeout: 'NP_IPTABLES_TIMEOUT',
  missing: 'NP_IPTABLES_MISSING',
} as const

/** In pieces, so that the whole of a large commit is never in memory. */
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

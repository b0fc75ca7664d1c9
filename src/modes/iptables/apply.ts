import type { Family } from '../../lib/ip.ts'
import type { Iptables, RestoreResult } from '../../kernel/iptables/iptables.ts'
import type { ObjectKey, Refusal } from '../mode.ts'
import { objectOf } from './object.ts'
import type { Commit } from './plan.ts'
import { type Contents, restoreLines } from './restore-text.ts'

type Failure = Extract<RestoreResult, { ok: false }>

export interface ApplyContext {
  readonly iptables: Iptables
  readonly contents: Contents
  /** Whether the kernel is known to hold the chain. */
  exists(key: ObjectKey): boolean
  /** Called after each process, with what the kernel's notifications will say of it. */
  wrote(result: Pick<RestoreResult, 'pid' | 'commits'>): void
  /** Called with the commits that took effect, as soon as they did. */
  done(commits: readonly Commit[]): void
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
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  const failed = new Map<ObjectKey, Refusal>()
  let left = commits
  while (left.length > 0) {
    const result = await context.iptables.restore(family, textOf(left, context.contents))
    context.wrote(result)
    if (result.ok) {
      context.done(left)
      break
    }
    left = afterFailure(left, result, { context, failed })
  }
  return failed
}

interface Progress {
  readonly context: ApplyContext
  readonly failed: Map<ObjectKey, Refusal>
}

/** What is left to do after a failure; always less than before. */
function afterFailure(
  commits: readonly Commit[],
  failure: Failure,
  { context, failed }: Progress,
): readonly Commit[] {
  if (failure.kind !== 'refused') return giveUp(commits, failure, failed)
  const done = failure.commits ?? (commits.length > 1 ? undefined : 0)
  if (done === undefined) return giveUp(commits, failure, failed)
  context.done(commits.slice(0, done))
  const [refused, ...rest] = commits.slice(done)
  if (refused === undefined) return []
  const culprit = culpritOf(refused, failure, { context, before: commits.slice(0, done) })
  if (culprit === undefined) return [...halves(refused, failure, failed), ...rest]
  failed.set(culprit, refusal(failure))
  return [without(refused, culprit, context), ...rest].filter(hasWork)
}

function giveUp(
  commits: readonly Commit[],
  failure: Failure,
  failed: Progress['failed'],
): readonly Commit[] {
  for (const commit of commits) {
    for (const key of [...commit.set, ...commit.unset]) failed.set(key, refusal(failure))
  }
  return []
}

/** The object that the failing line is about, or the one that the message names. */
function culpritOf(
  commit: Commit,
  failure: Failure,
  { context, before }: { context: ApplyContext; before: readonly Commit[] },
): ObjectKey | undefined {
  const keys = [...commit.stubs, ...commit.set, ...commit.unset]
  const named = /\bchain (NPROXY-[\w-]+)/.exec(failure.message)?.[1]
  const byName = keys.find((key) => named !== undefined && key.endsWith(`/${named}`))
  if (byName) return byName
  if (keys.length === 1) return keys[0]
  if (failure.line === undefined) return undefined
  const skipped = before.reduce((sum, each) => sum + [...restoreLines(each, context.contents)].length, 0)
  return [...restoreLines(commit, context.contents)][failure.line - skipped - 1]?.key
}

/** The commit without the culprit; a chain that others lead to is at least created. */
function without(commit: Commit, culprit: ObjectKey, context: ApplyContext): Commit {
  const drop = (keys: readonly ObjectKey[]) => keys.filter((key) => key !== culprit)
  const missing = commit.set.includes(culprit) && !context.exists(culprit)
  const stubs = missing && objectOf(culprit).kind === 'chain' ? [culprit] : []
  return {
    ...commit,
    set: drop(commit.set),
    unset: drop(commit.unset),
    stubs: [...drop(commit.stubs), ...stubs],
  }
}

/** Nobody says which object is at fault: try each half by itself. */
function halves(commit: Commit, failure: Failure, failed: Progress['failed']): readonly Commit[] {
  const { set, unset } = commit
  if (set.length + unset.length <= 1) return giveUp([commit], failure, failed)
  const middle = Math.ceil(set.length / 2)
  const half = Math.ceil(unset.length / 2)
  return [
    { ...commit, set: set.slice(0, middle), unset: [] },
    { ...commit, set: set.slice(middle), unset: unset.slice(0, half), stubs: [] },
    { ...commit, set: [], unset: unset.slice(half), stubs: [] },
  ].filter(hasWork)
}

function hasWork(commit: Commit): boolean {
  return commit.set.length + commit.unset.length > 0
}

function refusal(failure: Failure): Refusal {
  return { code: `NP_IPTABLES_${failure.kind.toUpperCase()}`, message: failure.message }
}

function* textOf(commits: readonly Commit[], contents: Contents): Generator<string> {
  for (const commit of commits) {
    let chunk = ''
    for (const { text } of restoreLines(commit, contents)) chunk += `${text}\n`
    yield chunk
  }
}

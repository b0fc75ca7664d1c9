import type { ObjectKey } from '../../mode.ts'
import type { ChainContents } from './keeper-options.ts'
import { objectOf } from './object.ts'
import type { Commit } from './plan.ts'

/** A line of restore text and the object that it is about. */
export interface Line {
  readonly text: string
  readonly key: ObjectKey | undefined
}

/** What the lines of a commit are made from. */
export interface Contents extends Pick<ChainContents, 'rulesOf'> {
  /** How often a jump stands in its chain now. */
  countOf(key: ObjectKey): number
}

/**
 * The text of one commit for `iptables-restore --noflush`. Every chain is
 * declared first, which creates or empties it; it is filled in the same
 * transaction, so that no packet sees it empty.
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

function* write(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind === 'chain') {
    for (const rule of contents.rulesOf(key) ?? []) yield line(`-A ${object.chain} ${rule}`, key)
  } else if (object.kind === 'jump') {
    yield* eraseJump(key, contents)
    yield line(`-I ${object.chain} 1 ${object.rule}`, key)
  }
}

function* erase(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind === 'chain') yield line(`-X ${object.chain}`, key)
  else yield* eraseJump(key, contents)
}

function* eraseJump(key: ObjectKey, contents: Contents): Generator<Line> {
  const object = objectOf(key)
  if (object.kind !== 'jump') return
  for (let count = contents.countOf(key); count > 0; count--) {
    yield line(`-D ${object.chain} ${object.rule}`, key)
  }
}

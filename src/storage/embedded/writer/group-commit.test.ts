import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { NodeProxyError } from '../../../lib/error.ts'
import { put } from '../../testing/conformance-steps.ts'
import { GroupCommit } from './group-commit.ts'
import type { TransactionOutcome, WriterCommand } from './writer-messages.ts'

/** A writer whose answers are given by the test. */
function newWriter() {
  const commands: {
    command: WriterCommand
    answer: PromiseWithResolvers<readonly TransactionOutcome[]>
  }[] = []
  const arrivals: (() => void)[] = []
  const execute = (command: WriterCommand) => {
    const answer = Promise.withResolvers<readonly TransactionOutcome[]>()
    commands.push({ command, answer })
    arrivals.shift()?.()
    return answer.promise
  }
  const next = async () => {
    if (commands.length === 0) await new Promise<void>((resolve) => arrivals.push(resolve))
    return commands.shift()!
  }
  return { execute, next, end: async () => undefined }
}

function newCommits() {
  const writer = newWriter()
  const reports: (number | Error)[] = []
  const report = (what: number | Error) => void reports.push(what)
  const commits = new GroupCommit(writer, { committed: report, failed: report })
  const create = (key: string) => commits.commit({ compare: [], operations: [put(key, 'x')] })
  return { writer, commits, reports, create }
}

function keysOf(command: WriterCommand): readonly string[] {
  if (command.do !== 'commit') return []
  return command.group.flatMap(({ operations }) => operations.map(({ key }) => key))
}

test('transactions of one turn of the event loop, or while the disk is busy, are committed together', async () => {
  const { writer, reports, create } = newCommits()
  const results = [create('/a'), create('/b')]
  const first = await writer.next()
  expect(keysOf(first.command)).toEqual(['/a', '/b'])
  results.push(create('/c'), create('/d'))
  first.answer.resolve([1, 2].map((revision) => ({ committed: true, revision })))
  const second = await writer.next()
  expect(keysOf(second.command)).toEqual(['/c', '/d'])
  second.answer.resolve([3, 4].map((revision) => ({ committed: true, revision })))
  expect((await Promise.all(results)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4])
  expect(reports).toEqual([2, 4])
})

test('a full disk rejects one group, and the next one is tried', async () => {
  const { writer, reports, create } = newCommits()
  const refused = create('/a')
  const full = new NodeProxyError('NP_STORAGE_FULL', 'full')
  ;(await writer.next()).answer.reject(full)
  await expect(refused).rejects.toBe(full)
  const kept = create('/b')
  ;(await writer.next()).answer.resolve([{ committed: true, revision: 1 }])
  expect(await kept).toEqual({ committed: true, revision: 1 })
  expect(reports).toEqual([1])
})

test('after a commit of unknown outcome all waiting and later transactions are rejected', async () => {
  const { writer, reports, create, commits } = newCommits()
  const lost = create('/a')
  const command = await writer.next()
  const waiting = create('/b')
  const broken = new NodeProxyError('NP_STORAGE_IO', 'fsync failed')
  command.answer.reject(broken)
  for (const one of [lost, waiting, create('/c'), commits.compact(0, 5)]) {
    await expect(one).rejects.toBe(broken)
  }
  expect(reports).toEqual([broken])
})

test('a compaction without space on the disk changes nothing', async () => {
  const { writer, reports, create, commits } = newCommits()
  const compaction = commits.compact(0, 5)
  const full = new NodeProxyError('NP_STORAGE_FULL', 'full')
  ;(await writer.next()).answer.reject(full)
  await expect(compaction).rejects.toBe(full)
  const created = create('/a')
  ;(await writer.next()).answer.resolve([{ committed: true, revision: 1 }])
  expect([await created, reports]).toEqual([{ committed: true, revision: 1 }, [1]])
})

test('a compaction of unknown outcome rejects waiting transactions, too', async () => {
  const { writer, reports, create, commits } = newCommits()
  const compaction = commits.compact(0, 5)
  const command = await writer.next()
  const waiting = create('/a')
  await setImmediate()
  const broken = new NodeProxyError('NP_STORAGE_IO', 'fsync failed')
  command.answer.reject(broken)
  for (const one of [compaction, waiting, create('/b')]) await expect(one).rejects.toBe(broken)
  await commits.close()
  expect(reports).toEqual([broken])
})

test('a commit runs between two steps of a compaction', async () => {
  const { writer, commits, create } = newCommits()
  const compaction = commits.compact(0, 1500)
  const slice = await writer.next()
  expect(slice.command).toEqual({ do: 'compact', revision: 1000 })
  const created = create('/a')
  slice.answer.resolve([])
  const seen = new Set<string>()
  for (let index = 0; index < 2; index++) {
    const { command, answer } = await writer.next()
    seen.add(command.do)
    answer.resolve(command.do === 'commit' ? [{ committed: true, revision: 1501 }] : [])
  }
  expect(seen).toEqual(new Set(['commit', 'compact']))
  await Promise.all([compaction, created])
})

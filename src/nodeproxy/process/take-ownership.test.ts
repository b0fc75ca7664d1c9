import { expect, test } from 'vitest'
import type { LockOwner } from '../../kernel/owner-lock.ts'
import { FakeLocks } from '../../kernel/testing/fake-locks.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { recordingLog } from '../testing/wiring.ts'
import { describeOwner, mayOwn, takeOwnership, thisProcess } from './take-ownership.ts'

const OTHER: LockOwner = {
  pid: 7,
  pidNamespace: 'pid:[1]',
  since: '2026-01-02T03:04:05.000Z',
  version: '1.2.3',
  task: 'daemon',
  mode: 'ipvs',
  command: 'node-proxy --config=x',
}

function rig(waitMs = 1_000) {
  const clock = new FakeClock()
  const { log, lines } = recordingLog()
  const locks = new FakeLocks()
  const stop = new AbortController()
  const parts = {
    locks,
    clock,
    log,
    waitMs,
    signal: stop.signal,
    owner: () => ({ ...OTHER, pid: 8 }),
    pause: (ms: number) => clock.advance(ms),
    mayOwn: () => true,
  }
  return { clock, lines, locks, stop, parts }
}

test('a free lock is taken at once, and free after the release', async () => {
  const { lines, locks, parts } = rig(0)
  const ownership = await takeOwnership(parts)
  expect(locks.ownerHere?.().pid).toBe(8)
  const reports: unknown[] = []
  ownership?.follow((problem) => reports.push(problem))
  ownership?.release()
  ownership?.release()
  expect([locks.ownerHere, lines, reports]).toEqual([undefined, [], [undefined]])
})

test('the wait for another node-proxy is logged once', async () => {
  const { lines, locks, parts } = rig()
  locks.other = { owner: OTHER, holder: { pid: 7, uid: 0 } }
  const pause = async (ms: number) => {
    await parts.pause(ms)
    if (locks.attempts === 3) locks.other = undefined
  }
  expect(await takeOwnership({ ...parts, pause })).toBeDefined()
  expect(lines).toEqual([expect.stringMatching(/^warn waiting for .*"daemon".*"wait":"1s"/)])
})

test.each([
  [0, OTHER, 'NP_NODEPROXY_LOCKED', /^another process works .*: node-proxy \(.*pid 7 .*"ipvs"/],
  [600, OTHER, 'NP_NODEPROXY_LOCKED', /after 600ms: node-proxy/],
  [0, undefined, 'NP_NODEPROXY_LOCK_FOREIGN', /^pid 7 of user 0 holds .*does not answer/],
])('after %d ms it gives up', async (waitMs, owner, code, message) => {
  const { locks, parts } = rig(waitMs)
  locks.other = { owner, holder: { pid: 7, uid: 0 } }
  await expect(takeOwnership(parts)).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringMatching(message) }),
  )
  expect(locks.attempts).toBe(waitMs / 200 + 1)
})

test('an aborted signal ends the wait', async () => {
  const { locks, parts, stop } = rig()
  locks.other = { owner: OTHER, holder: undefined }
  const pause = async () => stop.abort()
  expect(await takeOwnership({ ...parts, pause })).toBeUndefined()
})

test('a process without rights does not block the daemon; the lock is taken when it ends', async () => {
  const { clock, lines, locks, parts } = rig(0)
  locks.other = { owner: OTHER, holder: { pid: 7, uid: 1_000 } }
  const ownership = await takeOwnership({ ...parts, mayOwn: () => false })
  const reports: (string | undefined)[] = []
  ownership?.follow((problem) => reports.push(problem))
  await clock.advance(5_000)
  locks.other = undefined
  await clock.advance(5_000)
  expect(reports).toEqual([
    expect.stringContaining('without the right to write rules'),
    expect.stringContaining('@node-proxy'),
    undefined,
  ])
  expect(locks.ownerHere).toBeDefined()
  await clock.advance(60_000)
  expect(locks.attempts).toBe(3)
  ownership?.release()
  expect(locks.ownerHere).toBeUndefined()
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['warn', 'info'])
})

test('after the release the lock is not taken again', async () => {
  const { clock, locks, parts } = rig(0)
  locks.other = { owner: undefined, holder: { pid: 7, uid: 1_000 } }
  const ownership = await takeOwnership({ ...parts, mayOwn: () => false })
  ownership?.release()
  locks.other = undefined
  await clock.advance(60_000)
  expect(locks.ownerHere).toBeUndefined()
})

test('a lock that is acquired after the release is released', async () => {
  const { clock, locks, parts } = rig(0)
  locks.other = { owner: undefined, holder: { pid: 7, uid: 1_000 } }
  const ownership = await takeOwnership({ ...parts, mayOwn: () => false })
  locks.other = undefined
  const attempt = locks.attempt.bind(locks)
  locks.attempt = async (owner) => {
    const result = await attempt(owner)
    ownership?.release()
    return result
  }
  await clock.advance(5_000)
  expect([locks.attempts, locks.ownerHere]).toEqual([2, undefined])
})

test.each([
  ['nothing is known', undefined, undefined, true],
  ['visible, with rights', { pid: 7, uid: 1_000 }, true, true],
  ['visible, without', { pid: 7, uid: 0 }, false, false],
  ['not visible, root', { pid: 0, uid: 0 }, true, true],
  ['not visible, our user', { pid: 0, uid: 5 }, true, true],
  ['not visible, another user', { pid: 0, uid: 1_000 }, true, false],
  ['ended, another user', { pid: 7, uid: 1_000 }, undefined, false],
])('%s: may it be a node-proxy', (_, holder, netAdmin, expected) => {
  const rightsOf = () => (netAdmin === undefined ? undefined : { netAdmin })
  expect(mayOwn(holder, { ownUid: 5, rightsOf })).toBe(expected)
})

test('mayOwn reads the rights of a visible process', () => {
  expect(mayOwn({ pid: process.pid, uid: 12_345 })).toBe(process.getuid?.() === 0)
})

test('control characters of an owner are escaped in messages', () => {
  const text = describeOwner({ ...OTHER, command: 'a\n\u001b[2Jb', mode: '' }, undefined, 'pid:[2]')
  expect(text).toBe(
    'node-proxy (task "daemon", pid 7 in another container ("pid:[1]"), since "2026-01-02T03:04:05.000Z", version "1.2.3", command "a\\n\\u001b[2Jb")',
  )
  expect(describeOwner(undefined, { pid: 0, uid: 3 })).toBe(
    'a process that is not visible from here of user 3',
  )
})

test('the reported command line has no password', () => {
  const facts = { version: '1', task: 'daemon', mode: '' }
  const { command, pid } = thisProcess(['--master=https://u:secret@x'], facts)
  expect([command, pid]).toEqual(['node-proxy --master=https://[redacted]@x', process.pid])
})

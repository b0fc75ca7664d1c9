import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import {
  type LockOwner,
  type OwnerLocks,
  readOwner,
  SocketLocks,
  writeOwner,
} from './owner-lock.ts'
import { FakeLocks } from './testing/fake-locks.ts'

const OWNER: LockOwner = {
  pid: 4711,
  pidNamespace: 'pid:[1]',
  since: '2026-01-02T03:04:05Z',
  version: '1.2.3',
  task: 'daemon',
  mode: 'ipvs',
  command: 'node-proxy --config=x',
}
const names = { next: 0 }
const newName = () => `node-proxy-test-${process.pid}-${names.next++}`

const kinds: [string, () => OwnerLocks][] = [
  ['real', () => new SocketLocks(newName())],
  ['fake', () => new FakeLocks()],
]

test.each(kinds)('%s: one holds it, the next learns who, until it is released', async (_, open) => {
  const locks = open()
  const first = await locks.attempt(() => OWNER)
  if (first.kind !== 'held') throw new Error('no other process has it')
  expect(await locks.attempt(() => ({ ...OWNER, pid: 1 }))).toMatchObject({
    kind: 'taken',
    owner: OWNER,
  })
  first.lock.release()
  first.lock.release()
  const second = await locks.attempt(() => OWNER)
  expect(second.kind).toBe('held')
  if (second.kind === 'held') second.lock.release()
})

test('the holder of a lock is the process that the kernel reports', async () => {
  const locks = new SocketLocks(newName())
  const first = await locks.attempt(() => OWNER)
  const { pid } = process
  expect(await locks.attempt(() => OWNER)).toMatchObject({
    holder: { pid, uid: process.getuid?.() },
  })
  if (first.kind === 'held') first.lock.release()
})

test('the answer of an owner is computed at each request', async () => {
  const locks = new SocketLocks(newName())
  const world = { mode: 'ipvs' }
  const first = await locks.attempt(() => ({ ...OWNER, ...world }))
  world.mode = 'userspace'
  expect(await locks.attempt(() => OWNER)).toMatchObject({ owner: { mode: 'userspace' } })
  if (first.kind === 'held') first.lock.release()
})

test('a lock is free after SIGKILL of its owner', async () => {
  const name = newName()
  const module = JSON.stringify(new URL('./owner-lock.ts', import.meta.url).href)
  const program = `
    const { SocketLocks } = await import(${module})
    await new SocketLocks(${JSON.stringify(name)}).attempt(() => (${JSON.stringify(OWNER)}))
    console.log('held')
    setInterval(() => {}, 1e6)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const locks = new SocketLocks(name)
  expect(await locks.attempt(() => OWNER)).toMatchObject({
    owner: OWNER,
    holder: { pid: child.pid },
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const attempt = await locks.attempt(() => OWNER)
  expect(attempt.kind).toBe('held')
  if (attempt.kind === 'held') attempt.lock.release()
})

test.each([
  ['something else', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['too much', 'x'.repeat(100_000)],
  ['another program', `${JSON.stringify({ ...OWNER, program: 'x' })}\n`],
])('an owner that answers %s is no node-proxy', async (_, answer) => {
  const name = newName()
  const squatter = createServer((socket) => {
    socket.on('error', () => {})
    socket.end(answer)
  }).listen(`\0${name}`)
  await once(squatter, 'listening')
  expect(await new SocketLocks(name).attempt(() => OWNER)).toMatchObject({
    kind: 'taken',
    owner: undefined,
    holder: { pid: process.pid },
  })
  squatter.close()
})

test('clients that close without reading the answer do not block others', async () => {
  const name = newName()
  const locks = new SocketLocks(name)
  const first = await locks.attempt(() => OWNER)
  const clients = Array.from({ length: 8 }, () => connect(`\0${name}`).on('error', () => {}))
  for (const client of clients) client.destroy()
  await expect.poll(async () => locks.attempt(() => OWNER)).toMatchObject({ owner: OWNER })
  if (first.kind === 'held') first.lock.release()
})

test('the answer of an owner is decoded as it was encoded, long texts shortened', () => {
  const command = '-'.repeat(5_000)
  expect(readOwner(writeOwner(OWNER))).toEqual(OWNER)
  expect(readOwner(writeOwner({ ...OWNER, command }))?.command).toHaveLength(1_024)
  expect(readOwner('{"program":"node-proxy","pid":"7"}')).toBeUndefined()
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openSyscalls, type Syscalls } from '../../kernel/sockets/syscalls.ts'
import { notifyServiceManager } from './sd-notify.ts'

const AF_UNIX = 1
/** A datagram socket that does not wait. */
const KIND = 2 | 0o4000

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'np-notify-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function systemCalls(): Syscalls {
  const sys = openSyscalls()
  if (sys === undefined) throw new Error('no system calls')
  return sys
}

/** What a socket at this address gets while `act` runs. */
function heard(name: string, act: () => void): string | undefined {
  const sys = systemCalls()
  const fd = sys.socket(AF_UNIX, KIND, 0)
  const memory = sys.allocate(512)
  memory.view.setUint16(0, AF_UNIX, true)
  const length = 2 + memory.bytes.write(name, 2)
  try {
    expect(sys.bind(fd, memory.address, length)).toBe(0)
    act()
    const got = sys.recv(fd, memory.address, 512, 0)
    return got < 0 ? undefined : memory.bytes.toString('utf8', 0, got)
  } finally {
    sys.close(fd)
  }
}

function notify(socket: string | undefined) {
  const log = { warn: vi.fn<() => void>() }
  notifyServiceManager(['READY=1', 'STATUS=follows it'], { log, env: { NOTIFY_SOCKET: socket } })
  return log.warn
}

test('a socket with a path gets the assignments as one datagram', () => {
  const path = join(folder, 'notify')
  expect(heard(path, () => expect(notify(path)).not.toHaveBeenCalled())).toBe(
    'READY=1\nSTATUS=follows it',
  )
})

test('so does one with an abstract name', () => {
  const name = `np-notify-${process.pid}`
  expect(heard(`\0${name}`, () => expect(notify(`@${name}`)).not.toHaveBeenCalled())).toBe(
    'READY=1\nSTATUS=follows it',
  )
})

test('without a service manager nothing is sent, and nothing logged', () => {
  expect(notify(undefined)).not.toHaveBeenCalled()
  expect(notify('')).not.toHaveBeenCalled()
})

test.each([
  ['vsock:2:1234', 'neither a path nor an abstract name (@…) of at most 107 bytes'],
  [`/${'a'.repeat(107)}`, 'neither a path nor an abstract name (@…) of at most 107 bytes'],
  ['/nowhere/notify', 'sendto: ENOENT'],
])('what cannot be sent is logged: %s', (socket, problem) => {
  const fields = { socket, problem }
  const text = 'the service manager (NOTIFY_SOCKET) was not notified'
  expect(notify(socket)).toHaveBeenCalledExactlyOnceWith(fields, text)
})

import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { openLogDestination } from './logger.ts'

afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** A disk that takes nothing until it has space, in bytes. */
function fullDisk(code = 'ENOSPC') {
  let text = ''
  const disk = { space: 0, tries: 0, text: () => text }
  vi.spyOn(fs, 'writeSync').mockImplementation((_fd: number, data: unknown) => {
    disk.tries += 1
    if (disk.space === 0) throw Object.assign(new Error(code), { code })
    const taken = String(data).slice(0, disk.space)
    disk.space -= taken.length
    text += taken
    return taken.length
  })
  syncBuiltinESMExports()
  return disk
}

test('records wait for the disk and keep their order, also one that was cut', () => {
  const disk = fullDisk()
  const onLoss = vi.fn()
  const log = openLogDestination({ onLoss })
  log.write('a\n')
  disk.space = 3
  log.write('bcd\n')
  disk.space = Infinity
  log.write('e\n')
  expect(disk.text()).toBe('a\nbcd\ne\n')
  expect(onLoss).not.toHaveBeenCalled()
})

test('the number of dropped records is reported once, when writing works again', () => {
  const disk = fullDisk()
  const onLoss = vi.fn(() => log.write('lost\n'))
  const log = openLogDestination({ onLoss })
  const large = `${'x'.repeat((1 << 20) - 3)}\n`
  for (const line of [large, 'a\n', 'b\n', 'c\n']) log.write(line)
  disk.space = Infinity
  log.write('d\n')
  log.write('e\n')
  expect(disk.text()).toBe(`${large}a\nd\nlost\ne\n`)
  expect(onLoss.mock.calls).toEqual([[2]])
})

test('a reader that is gone costs one try for each record', () => {
  const disk = fullDisk('EPIPE')
  const log = openLogDestination({ onLoss: vi.fn() })
  for (const line of ['a\n', 'b\n', 'c\n']) log.write(line)
  expect(disk.tries).toBe(3)
})

test('a process with a full standard output lives on, also after a fatal record', async () => {
  const script = `
    const { createLogger } = await import('${import.meta.dirname}/logger.ts')
    const log = await createLogger({ verbosity: 0, pretty: process.argv[1] === 'pretty' })
    log.info('a')
    log.fatal('b')
    setImmediate(() => process.stderr.write('alive'))`
  const run = promisify(execFile)
  const command = 'exec "$0" --input-type=module -e "$1" "$2" >/dev/full'
  for (const shape of ['json', 'pretty']) {
    const { stderr } = await run('sh', ['-c', command, process.execPath, script, shape])
    expect(stderr).toBe('alive')
  }
})

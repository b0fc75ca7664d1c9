import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { ProgramResult } from './program-runner.ts'
import { Spawner, type Starting } from './spawner.ts'

/** Node ignores it: an error of writing says the same. */
const { SIGPIPE } = constants.signals

let parent: string
beforeEach(() => {
  parent = mkdtempSync(`${tmpdir()}/np-spawner-test-`)
})
afterEach(() => rmSync(parent, { recursive: true, force: true }))

describe.each<Starting>(['posix-spawn', 'shell'])('starting by %s', (starting) => {
  let spawner: Spawner
  beforeEach(() => {
    spawner = new Spawner({ runtimeDirectory: parent, starting })
  })
  afterEach(() => spawner.close())

  test('is what was asked for', () => {
    expect(helperFolders()).toHaveLength(starting === 'shell' ? 1 : 0)
  })

  test('passes input to a program and returns output, errors, status and pid', async () => {
    const cat = await spawner.run({
      program: 'cat',
      args: [],
      stdin: 'a\n$(id)\n',
      timeoutMs: 5000,
    })
    expect(cat).toMatchObject({ status: 0, stdout: 'a\n$(id)\n', stderr: '', timedOut: false })
    expect(cat.pid).toBeGreaterThan(1)
    const ls = await spawner.run({ program: 'ls', args: ['/no/such/place'], timeoutMs: 5000 })
    expect(ls.status).toBe(2)
    expect(ls.stderr).toContain('/no/such/place')
  })

  test('a program that does not exist is status 127', async () => {
    const result = await spawner.run({ program: 'no-such-program', args: [], timeoutMs: 5000 })
    expect(result.status).toBe(127)
  })

  test('input may come in pieces and output may be read as lines', async () => {
    function* pieces() {
      for (let i = 0; i < 200_000; i++) yield `line ${i} of a long text\n`
    }
    let count = 0
    let last = ''
    const job = { program: 'cat', args: [], stdin: pieces(), timeoutMs: 20_000 }
    const exit = await spawner.runLines(job, (line) => {
      count++
      last = line
    })
    expect(exit.status).toBe(0)
    expect([count, last]).toEqual([200_000, 'line 199999 of a long text'])
  })

  test('one very long line and a last line without an end are kept whole', async () => {
    const long = 'x'.repeat(700_000)
    const lines: string[] = []
    const job = { program: 'cat', args: [], stdin: `${long}\nend`, timeoutMs: 5000 }
    await spawner.runLines(job, (line) => lines.push(line))
    expect(lines).toEqual([long, 'end'])
  })

  test.each([
    ['program', { program: 'sh -c', args: [] }],
    ['program', { program: '../evil', args: [] }],
    ['args', { program: 'echo', args: ['$(id)'] }],
    ['args', { program: 'echo', args: ['a b'] }],
    ['args', { program: 'echo', args: ['a\nb'] }],
    ['args', { program: 'echo', args: [''] }],
    ['args', { program: 'echo', args: ['*'] }],
  ])('refuses an unsafe %s', async (field, job) => {
    const promise = spawner.run({ ...job, timeoutMs: 5000 })
    await expect(promise).rejects.toMatchObject({ code: 'NP_KERNEL_JOB', object: field })
  })

  test('jobs run in order, concurrent ones do not wait', async () => {
    const order: string[] = []
    const slow = spawner.run({ program: 'sleep', args: ['0.3'], timeoutMs: 5000 })
    const next = spawner.run({ program: 'true', args: [], timeoutMs: 5000 })
    const beside = spawner.run({ program: 'true', args: [], timeoutMs: 5000, concurrent: true })
    await Promise.all([
      slow.then(() => order.push('slow')),
      next.then(() => order.push('next')),
      beside.then(() => order.push('beside')),
    ])
    expect(order).toEqual(['beside', 'slow', 'next'])
  })

  test('a program that exceeds its timeout is stopped, even if it ignores SIGTERM', async () => {
    const polite = await spawner.run({ program: 'sleep', args: ['60'], timeoutMs: 100 })
    expect(polite).toMatchObject({ timedOut: true, status: 143 })
    const script = `${parent}/stubborn`
    writeFileSync(script, "trap '' TERM\nwhile :; do :; done\n")
    const stubborn = await spawner.run({ program: 'sh', args: [script], timeoutMs: 2000 })
    expect(stubborn).toMatchObject({ timedOut: true, status: 137 })
  })

  test('a closed spawner refuses jobs', async () => {
    await spawner.close()
    const promise = spawner.run({ program: 'true', args: [], timeoutMs: 5000 })
    await expect(promise).rejects.toMatchObject({ code: 'NP_KERNEL_SPAWNER' })
  })

  test('a killed daemon leaves a running program to finish, then the helper cleans up', async () => {
    const module = fileURLToPath(new URL('./spawner.ts', import.meta.url))
    const text = `
      import { Spawner } from ${JSON.stringify(module)}
      const spawner = new Spawner(${JSON.stringify({ runtimeDirectory: parent, starting })})
      console.log('started')
      await spawner.run({ program: 'sh', args: [${JSON.stringify(`${parent}/slow`)}], stdin: 'all of it', timeoutMs: 30000 })
    `
    writeFileSync(
      `${parent}/slow`,
      `echo started >${parent}/started; sleep 0.5; cat >${parent}/result\n`,
    )
    const daemon = spawn(process.execPath, ['--input-type=module', '-e', text], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(daemon.stdout, 'data')
    await untilFile(`${parent}/started`)
    daemon.kill('SIGKILL')
    await untilFile(`${parent}/result`)
    await expect.poll(() => readFileSync(`${parent}/result`, 'utf8')).toBe('all of it')
    await expect.poll(() => helperFolders()).toHaveLength(starting === 'shell' ? 1 : 0)
  })

  test('leaves no file, and no other open one', async () => {
    await spawner.run({ program: 'cat', args: [], stdin: 'secret', timeoutMs: 5000 })
    expect(openFiles()).toEqual([])
    await spawner.close()
    expect(helperFolders()).toEqual([])
  })
})

test('a dead helper fails the job in flight, stops its program and is replaced', async () => {
  const file = `${parent}/parent-of-sleep`
  writeFileSync(
    `${parent}/script`,
    `ps -o ppid= -p $PPID >${file}; echo $$ >${file}.me; exec sleep 60\n`,
  )
  const spawner = new Spawner({ runtimeDirectory: parent, starting: 'shell' })
  onTestFinished(() => spawner.close())
  const job = spawner.run({ program: 'sh', args: [`${parent}/script`], timeoutMs: 30_000 })
  const failed = job.catch((error: unknown) => error)
  await untilFile(`${file}.me`)
  process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL')
  expect(await failed).toMatchObject({ code: 'NP_KERNEL_SPAWNER' })
  const program = Number(readFileSync(`${file}.me`, 'utf8'))
  await expect.poll(() => isAlive(program)).toBe(false)
  const again = await spawner.run({ program: 'echo', args: ['back'], timeoutMs: 5000 })
  expect(again.stdout).toBe('back\n')
})

test('a job fails whose helper ends before its input is complete, although another job has a new helper', async () => {
  const file = `${parent}/helper`
  writeFileSync(`${parent}/script`, `ps -o ppid= -p $PPID >${file}\n`)
  const spawner = new Spawner({ runtimeDirectory: parent, starting: 'shell' })
  onTestFinished(() => spawner.close())
  await spawner.run({ program: 'sh', args: [`${parent}/script`], timeoutMs: 30_000 })
  const simple = { args: [], timeoutMs: 30_000, concurrent: true }
  let other: Promise<ProgramResult> | undefined
  function* input() {
    process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL')
    while (helperFolders().length > 0) yield 'x'.repeat(300_000)
    other = spawner.run({ ...simple, program: 'true' })
  }
  const job = spawner.run({ ...simple, program: 'wc', stdin: input() })
  await expect(job).rejects.toMatchObject({ code: 'NP_KERNEL_SPAWNER' })
  expect(await other).toMatchObject({ status: 0 })
})

test('the files of a helper shell are private', async () => {
  const spawner = new Spawner({ runtimeDirectory: parent, starting: 'shell' })
  const [folder = ''] = helperFolders()
  expect(statSync(join(parent, folder)).mode & 0o777).toBe(0o700)
  await spawner.run({ program: 'cat', args: [], stdin: 'secret', timeoutMs: 5000 })
  expect(readdirSync(join(parent, folder))).toEqual([])
  await spawner.close()
})

test('a program begins at / with signals and open files as a new session has them', async () => {
  const spawner = new Spawner({ runtimeDirectory: parent, starting: 'posix-spawn' })
  onTestFinished(() => spawner.close())
  const { stdout } = await spawner.run({
    program: 'cat',
    args: ['/proc/self/status'],
    timeoutMs: 5000,
  })
  expect(stdout).toMatch(/^SigBlk:\t0+$/m)
  expect(isIgnored(SIGPIPE, readFileSync('/proc/self/status', 'utf8'))).toBe(true)
  expect(isIgnored(SIGPIPE, stdout)).toBe(false)
  const files = await spawner.run({ program: 'ls', args: ['/proc/self/fd'], timeoutMs: 5000 })
  // The last one is the folder that it reads.
  expect(files.stdout).toBe('0\n1\n2\n3\n')
  const session = await spawner.run({
    program: 'cat',
    args: ['/proc/self/stat'],
    timeoutMs: 5000,
  })
  const ours = readFileSync('/proc/self/stat', 'utf8')
  expect(sessionIn(session.stdout)).not.toBe(sessionIn(ours))
})

test('a program that does not exist ends with the reason', async () => {
  const spawner = new Spawner({ runtimeDirectory: parent, starting: 'posix-spawn' })
  onTestFinished(() => spawner.close())
  const { status, stderr } = await spawner.run({ program: 'none', args: [], timeoutMs: 5000 })
  expect({ status, stderr }).toEqual({ status: 127, stderr: 'none: not found\n' })
})

/** Folders of helper shells that run. */
function helperFolders(): readonly string[] {
  return readdirSync(parent).filter((name) => name.startsWith('node-proxy-'))
}

/** Files of jobs that this process has open. */
function openFiles(): readonly string[] {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      // The one by which the folder was read.
      return []
    }
  })
  return links.filter((path) => /node-proxy-(?:in|out|err)|np-spawner-test/.test(path))
}

/** By the status of a process, see proc_pid_status(5). */
function isIgnored(signal: number, status: string): boolean {
  const [, mask = ''] = /^SigIgn:\s+(\w+)$/m.exec(status) ?? []
  return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n
}

/** The session in proc_pid_stat(5): the fourth field after the name. */
function sessionIn(stat: string): string {
  return stat.slice(stat.lastIndexOf(')')).split(' ')[4] ?? ''
}

async function untilFile(path: string): Promise<void> {
  await expect.poll(() => existsSync(path) && statSync(path).size > 0).toBe(true)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

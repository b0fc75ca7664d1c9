import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type JobReport, startHelper } from './helper.ts'
import { Spawner } from './spawner.ts'

let parent: string
let spawner: Spawner

beforeEach(() => {
  parent = mkdtempSync(`${tmpdir()}/np-spawner-test-`)
  spawner = new Spawner({ runtimeDirectory: parent })
})

afterEach(async () => {
  await spawner.close()
  rmSync(parent, { recursive: true, force: true })
})

test('passes input to a program and returns output, errors, status and pid', async () => {
  const cat = await spawner.run({ program: 'cat', args: [], stdin: 'a\n$(id)\n', timeoutMs: 5000 })
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
  const stubborn = await spawner.run({ program: 'sh', args: [script], timeoutMs: 100 })
  expect(stubborn).toMatchObject({ timedOut: true, status: 137 })
})

test('a program that is stopped before it opened its files leaves empty ones', async () => {
  execFileSync('mkfifo', [`${parent}/1.in`])
  const ended = Promise.withResolvers<JobReport>()
  const helper = startHelper(parent, {
    onReport(report) {
      if (report.status === undefined) process.kill(report.pid, 'SIGTERM')
      else ended.resolve(report)
    },
    onExit: (reason) => ended.reject(new Error(reason)),
  })
  helper.hold(true)
  helper.send('1 cat\n')
  expect((await ended.promise).status).toBe(128 + 15)
  expect(readdirSync(parent)).toEqual(expect.arrayContaining(['1.out', '1.err']))
  helper.end()
})

test('files are private and removed after each job', async () => {
  const directory = spawner.directory ?? ''
  expect(statSync(directory).mode & 0o777).toBe(0o700)
  await spawner.run({ program: 'cat', args: [], stdin: 'secret', timeoutMs: 5000 })
  expect(readdirSync(directory)).toEqual([])
  await spawner.close()
  expect(existsSync(directory)).toBe(false)
})

test('a dead helper fails the job in flight, stops its program and is replaced', async () => {
  const file = `${parent}/parent-of-sleep`
  writeFileSync(
    `${parent}/script`,
    `ps -o ppid= -p $PPID >${file}; echo $$ >${file}.me; exec sleep 60\n`,
  )
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

test('a closed spawner refuses jobs', async () => {
  await spawner.close()
  const promise = spawner.run({ program: 'true', args: [], timeoutMs: 5000 })
  await expect(promise).rejects.toMatchObject({ code: 'NP_KERNEL_SPAWNER' })
})

test('a killed daemon leaves a running program to finish, then the helper cleans up', async () => {
  const module = fileURLToPath(new URL('./spawner.ts', import.meta.url))
  const text = `
    import { Spawner } from ${JSON.stringify(module)}
    const spawner = new Spawner({ runtimeDirectory: ${JSON.stringify(parent)} })
    console.log(spawner.directory)
    await spawner.run({ program: 'sh', args: [${JSON.stringify(`${parent}/slow`)}], stdin: 'all of it', timeoutMs: 30000 })
  `
  writeFileSync(
    `${parent}/slow`,
    `echo started >${parent}/started; sleep 0.5; cat >${parent}/result\n`,
  )
  const daemon = spawn(process.execPath, ['--input-type=module', '-e', text], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(daemon.stdout, 'data')) as [Buffer]
  const directory = line.toString().trim()
  await untilFile(`${parent}/started`)
  daemon.kill('SIGKILL')
  await untilFile(`${parent}/result`)
  await expect.poll(() => readFileSync(`${parent}/result`, 'utf8')).toBe('all of it')
  await expect.poll(() => existsSync(directory)).toBe(false)
})

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

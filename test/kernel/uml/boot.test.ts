import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KernelRun } from '../../../src/uml/kernel-run.ts'
import { findShellSockets } from '../../../src/uml/scratch.ts'
import { bootKernel, startKernel } from '../../../src/uml/start-kernel.ts'
import { needsUserModeLinux } from './installed.ts'

needsUserModeLinux()

const PROGRAM = new URL('../../../src/uml/main.ts', import.meta.url).pathname

/** A kernel that boots beside others may take so many times as long as one did before. */
const SLOWER = 3

let folder: string
/** Milliseconds from the start of a kernel to the end of a command in it. */
let bootMs: number

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'np-boot-'))
  const began = performance.now()
  await bootKernel(shell('true'))
  bootMs = Math.ceil(performance.now() - began)
})
afterAll(() => rmSync(folder, { recursive: true }))

function shell(script: string, run: Partial<KernelRun> = {}): KernelRun {
  return { command: 'sh', args: ['-c', script], memory: 256, timeoutMs: 150_000, ...run }
}

/** Scratch folders of kernels that a process booted. */
function leftBy(pid: number): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`np-uml-${pid}-`))
}

test('runs a command with its arguments, environment and folder, and returns its status', async () => {
  const heard: string[] = []
  const { status, console } = await bootKernel({
    command: 'sh',
    args: ['-c', 'echo "$1|$WORD|$PWD"; echo complaint >&2; exit 7', 'sh', `it's "$HOME"`],
    env: { WORD: 'two words' },
    cwd: '/usr/lib',
    memory: 256,
    onOutput: (text) => heard.push(text),
  })
  expect(status).toBe(7)
  expect(console).toBe(`it's "$HOME"|two words|/usr/lib\ncomplaint\n`)
  expect(heard.join('')).toBe(console)
  expect(leftBy(process.pid)).toEqual([])
})

test.each([
  ['kill -9 $$', 137],
  ['exec no-such-command', 127],
])('the status of %s is %i', async (script, status) => {
  expect(await bootKernel(shell(script))).toMatchObject({ status })
})

test('no output is lost, however much comes at the very end', async () => {
  const { console } = await bootKernel(shell('head -c 60000 /dev/zero | tr "\\0" x'))
  expect(console).toHaveLength(60_000)
})

test('ends with its command, whatever that leaves running, and is no process’s terminal', async () => {
  const script = 'sleep 1000 & if [ -t 1 ]; then echo a screen; else echo a pipe; fi'
  const { console } = await bootKernel(shell(script, { silenceMs: 30_000 }))
  expect(console).toBe('a pipe\n')
})

test('loads modules on request of a command and of the kernel, and not those that were taken away', async () => {
  const script = `
    modprobe -q ip_vs_rr && echo requested
    ip link add type dummy && ip link show dummy0 >/dev/null && echo by-kernel
    modprobe -q ip_vs_wrr || echo taken
    modprobe -nq ip_vs_wrr || echo not-even-there`
  const { console } = await bootKernel(shell(script, { withoutModules: ['ip-vs-wrr'] }))
  expect(console).toBe('requested\nby-kernel\ntaken\nnot-even-there\n')
})

/** Of a checkout below /tmp, the folder in /tmp that leads to it. */
const [, OWN_TOP = 'none'] = /^\/tmp\/([^/]+)/.exec(process.cwd()) ?? []

test('sees this machine’s files, and writes only to writable shares', async () => {
  const secret = join(folder, 'secret')
  writeFileSync(secret, 'as it was')
  const mine = `/var/tmp/np-uml-${process.pid}`
  const script = `
    cat /in/secret; echo
    echo changed 2>/dev/null >/in/secret || echo refused
    echo result >/out/result
    echo lost >${mine} && cat ${mine}
    ls /tmp | grep -cv '^${OWN_TOP}$'`
  const { console } = await bootKernel(
    shell(script, {
      share: [
        { host: folder, inside: '/in' },
        { host: folder, inside: '/out', writable: true },
      ],
    }),
  )
  expect(console).toBe('as it was\nrefused\nlost\n0\n')
  expect(readFileSync(secret, 'utf8')).toBe('as it was')
  expect(readFileSync(join(folder, 'result'), 'utf8')).toBe('result\n')
  expect(existsSync(mine)).toBe(false)
})

test('talks over the channel, every byte as it is', async () => {
  const script = 'exec 3<>$UML_CHANNEL; echo ready >&3; head -c 256 <&3 >&3'
  const kernel = await startKernel(shell(script))
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
  const received: Buffer[] = []
  kernel.channel.on('data', (chunk: Buffer) => {
    if (received.push(chunk) === 1) kernel.channel.write(bytes)
  })
  expect(await kernel.ended).toMatchObject({ status: 0 })
  expect(Buffer.concat(received)).toEqual(Buffer.concat([Buffer.from('ready\n'), bytes]))
})

test('others can come in and use a shell, until the kernel is gone', async () => {
  const kernel = await startKernel(shell('sleep 1000', { shell: true }))
  const [listener = ''] = findShellSockets(process.pid)
  const visitor = connect(listener)
  let seen = ''
  visitor.on('data', (text: Buffer) => {
    seen += text.toString()
  })
  const prompted = () => {
    visitor.write('\r')
    return seen
  }
  await expect.poll(prompted, { interval: 500 }).toContain('uml# ')
  visitor.write('echo $((6 * 7)) processes; ps -C sleep -o args=\r')
  await expect.poll(() => seen).toMatch(/42 processes[^]*sleep 1000/)
  const left = once(visitor, 'close')
  kernel.kill()
  await left
  await kernel.ended.catch(() => undefined)
  expect(findShellSockets(process.pid)).toEqual([])
})

test('the command that goes in takes what is typed, and leaves with Ctrl-]', async () => {
  const kernel = await startKernel(shell('sleep 1000', { shell: true }))
  const visitor = spawn(process.execPath, [PROGRAM, `--enter=${process.pid}`])
  let seen = ''
  visitor.stdout.on('data', (text: Buffer) => {
    seen += text.toString()
  })
  const prompted = () => {
    visitor.stdin.write('\r')
    return seen
  }
  await expect.poll(prompted, { interval: 500 }).toContain('uml# ')
  visitor.stdin.write('echo $((6 * 7)) visits\r')
  await expect.poll(() => seen).toContain('42 visits')
  const leaves = once(visitor, 'exit')
  visitor.stdin.write('\u001d')
  expect(await leaves).toEqual([0, null])
  kernel.kill()
  await kernel.ended.catch(() => undefined)
})

test('passes a terminal through: its size, its keys, and the status at the end', async () => {
  const main = new URL('../../../src/uml/main.ts', import.meta.url).pathname
  const inside = 'tty; stty size; read -r line; echo "heard $line"; sleep 1000'
  const command = ['stty', 'rows', '33', 'cols', '77;', process.execPath, main, 'sh', '-c']
  const pty = spawn('script', ['-qec', [...command, `'${inside}'`].join(' '), '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let seen = ''
  pty.stdout.on('data', (text: Buffer) => {
    seen += text.toString()
  })
  const says = (text: string) => expect.poll(() => seen).toContain(text)
  await says('/dev/tty0\r\n33 77\r\n')
  pty.stdin.write('a word\r')
  await says('heard a word')
  const ended = once(pty, 'exit')
  pty.stdin.write('\u0003')
  expect(await ended).toEqual([130, null])
})

test('kills a kernel that says nothing, and shows what it said last', async () => {
  const run = shell('echo alive; sleep 1000', { silenceMs: SLOWER * bootMs })
  await expect(bootKernel(run)).rejects.toMatchObject({
    code: 'NP_UML_SILENT',
    message: expect.stringContaining('\nalive'),
  })
})

test('kills a kernel that only talks', async () => {
  const silenceMs = SLOWER * bootMs
  const run = shell('while sleep 0.1; do echo word; done', { timeoutMs: 2 * silenceMs, silenceMs })
  await expect(bootKernel(run)).rejects.toMatchObject({ code: 'NP_UML_TIMEOUT' })
})

test('says that the kernel panicked, and how', async () => {
  await expect(bootKernel(shell('echo c >/proc/sysrq-trigger'))).rejects.toMatchObject({
    code: 'NP_UML_PANIC',
    message: expect.stringContaining('Kernel panic - not syncing: sysrq triggered crash'),
  })
})

test('a kernel that is killed says so', async () => {
  const kernel = await startKernel(shell('sleep 1000'))
  kernel.kill()
  await expect(kernel.ended).rejects.toMatchObject({ code: 'NP_UML_ENDED' })
  expect(leftBy(process.pid)).toEqual([])
})

test('nothing is left when the process that booted it is killed', async () => {
  const main = new URL('../../../src/uml/main.ts', import.meta.url).pathname
  const booter = spawn(process.execPath, [main, 'sh', '-c', 'echo up; sleep 1000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(booter.stdout, 'data')
  const [scratch = ''] = leftBy(booter.pid ?? 0)
  const alive = () => processesWith(scratch)
  expect(alive()).not.toBe(0)
  booter.kill('SIGKILL')
  await expect.poll(alive).toBe(0)
  await expect.poll(() => leftBy(booter.pid ?? 0)).toEqual([])
})

/** How many processes have this text in their command line. */
function processesWith(text: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  }).length
}

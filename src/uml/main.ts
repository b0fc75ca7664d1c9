import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { NodeProxyError } from '../lib/error.ts'
import type { KernelRun } from './kernel-run.ts'
import { findShellSockets } from './scratch.ts'
import { bootKernel } from './start-kernel.ts'

const USAGE = `Usage: npm run --silent uml -- [--memory=MIB] [--without=MODULE,…] COMMAND [ARGUMENT…]
       npm run --silent uml -- --enter[=PID]

Runs a command in a User-mode Linux kernel whose root file system is this
machine's; what it changes there is forgotten. Exits as the command does.
With --enter: a shell in the kernel that runs already, or in the one that the
process PID booted; Ctrl-] leaves it.
`

/** Ctrl-], as in telnet. */
const LEAVE = '\u001d'

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const enter = /^--enter(?:=(\d+))?$/.exec(args[0] ?? '')
  if (enter !== null)
    return visit(findShellSockets(enter[1] === undefined ? undefined : Number(enter[1])))
  const run = read(args)
  if (run === undefined) {
    process.stderr.write(USAGE)
    return 2
  }
  try {
    return (await bootKernel(run)).status
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    const [what] = error.message.split('\n')
    process.stderr.write(`${error.code}: ${[what, error.hint].filter(Boolean).join('\n')}\n`)
    return 1
  }
}

async function visit(sockets: readonly string[]): Promise<number> {
  const [socket, ...others] = sockets
  if (socket === undefined || others.length > 0) {
    const [what, all] = [
      'kernels with a shell are running; --enter=PID chooses the one that the process PID booted',
      sockets.map((one) => `${one}\n`).join(''),
    ]
    process.stderr.write(`${sockets.length} ${what}\n${all}`)
    return 1
  }
  await enter(socket)
  return 0
}

/** Parses the options of this program, which end where the command begins. */
function read(args: readonly string[]): KernelRun | undefined {
  const start = args.findIndex((arg) => !arg.startsWith('--'))
  const command = args[start]
  if (command === undefined) return undefined
  const { values } = parseArgs({
    args: args.slice(0, start),
    options: { memory: { type: 'string', default: '2048' }, without: { type: 'string' } },
  })
  return {
    command,
    args: args.slice(start + 1),
    env: process.env,
    cwd: process.cwd(),
    memory: Number(values.memory),
    withoutModules: values.without?.split(',') ?? [],
    terminal: process.stdin.isTTY && process.stdout.isTTY,
    shell: true,
    onOutput: (text) => void process.stdout.write(text),
  }
}

/** Connects this terminal with the shell behind a socket until Ctrl-], or until the kernel ends. */
async function enter(path: string): Promise<void> {
  const { stdin, stdout } = process
  const connection = connect(path)
  const left = new Promise<void>((resolve, reject) => {
    connection.once('close', () => resolve())
    connection.once('error', reject)
  })
  connection.on('data', (text) => stdout.write(text))
  if (stdin.isTTY) {
    stdin.setRawMode(true)
    connection.write(` stty rows ${stdout.rows} columns ${stdout.columns}\r`)
  }
  stdin.on('data', (typed: Buffer) => {
    if (typed.includes(LEAVE)) connection.destroy()
    else connection.write(typed)
  })
  try {
    await left
  } finally {
    if (stdin.isTTY) stdin.setRawMode(false)
    stdin.destroy()
  }
}

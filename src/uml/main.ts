import { parseArgs } from 'node:util'
import { NodeProxyError } from '../lib/error.ts'
import type { KernelRun } from './kernel-run.ts'
import { bootKernel } from './start-kernel.ts'

const USAGE = `Usage: npm run --silent uml -- [--memory=MIB] [--without=MODULE,…] COMMAND [ARGUMENT…]

Runs a command in a User-mode Linux kernel whose root file system is this
machine's; what it changes there is forgotten. Exits as the command does.
`

process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
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

/** Our own options end where the command begins. */
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
    onOutput: (text) => void process.stdout.write(text),
  }
}

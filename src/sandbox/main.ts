import { NodeProxyError } from '../lib/error.ts'
import { readArguments, USAGE } from './run/arguments.ts'
import { needsOtherKernel, runInOtherKernel } from './run/other-kernel.ts'
import { supervise } from './supervise.ts'

process.exitCode = await main()

async function main(): Promise<number> {
  const args = readArguments(process.argv.slice(2), process.env)
  if (args.kind === 'help') {
    process.stdout.write(USAGE)
    return 0
  }
  if (args.kind === 'wrong') return refuse(`${args.problem} (npm start -- --help)`, 2)
  if (process.platform !== 'linux')
    return refuse('needs Linux: it is made of network namespaces', 1)
  if (needsOtherKernel(args.options)) return runInOtherKernel(args.options).catch(complain)
  if (process.getuid?.() !== 0) return refuse('needs root, to make network namespaces', 1)
  return supervise(args.options)
}

function complain(error: unknown): number {
  if (!(error instanceof NodeProxyError)) throw error
  return refuse([`${error.code}: ${error.message}`, error.hint].filter(Boolean).join('\n'), 1)
}

function refuse(text: string, code: number): number {
  process.stderr.write(`sandbox: ${text}\n`)
  return code
}

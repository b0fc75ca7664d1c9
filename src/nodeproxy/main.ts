import { flushCompileCache } from 'node:module'
import { packageVersion, releaseFilePages } from '../lib/process.ts'
import type { CommandHost } from './commands/command-module.ts'
import { COMMANDS, commandOf } from './commands/commands.ts'
import { MODES } from './config/fields/mode-registry.ts'
import { runProgram } from './program.ts'

const args = process.argv.slice(2)
const command = commandOf(args)
const output = { stdout: process.stdout, stderr: process.stderr, version: packageVersion() }
if (command === undefined) {
  const modes = MODES.map(({ name }) => name)
  process.exitCode = await runProgram(args, {
    ...output,
    modes,
    loadDaemon,
    subcommands: COMMANDS,
  })
} else {
  const { runCommand } = await import('./commands/run-command.ts')
  process.exitCode = await runCommand(command, args.slice(1), commandHost())
}

function commandHost(): CommandHost {
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => interrupted.abort())
  // `node-proxy entries | head` closes the output early.
  process.stdout.on('error', () => process.exit(0))
  return { ...output, signal: interrupted.signal }
}

/** Where NODE_COMPILE_CACHE is set, the next start needs neither compiler nor type stripper. */
async function loadDaemon() {
  releaseFilePages()
  const daemon = await import('./daemon.ts')
  flushCompileCache()
  return daemon
}

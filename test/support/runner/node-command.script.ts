import { packageVersion } from '../../../src/lib/process.ts'
import { commandOf } from '../../../src/nodeproxy/commands/commands.ts'
import { runCommand } from '../../../src/nodeproxy/commands/run-command.ts'
import { serveRuns } from './serve-runs.ts'

const version = packageVersion()

serveRuns(({ args }, host) => {
  const command = commandOf(args)
  if (command === undefined) throw new Error(`no command of node-proxy: ${args.join(' ')}`)
  return runCommand(command, args.slice(1), { ...host, version })
})

import { Readable } from 'node:stream'
import { packageVersion } from '../../../src/lib/process.ts'
import { runOrchctl } from '../../../src/orchctl/program.ts'
import { serveRuns } from './serve-runs.ts'

const version = packageVersion()

serveRuns(({ args, env, input = '' }, host) =>
  runOrchctl(args, {
    ...host,
    version,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
    env: { ...process.env, ...env },
  }),
)

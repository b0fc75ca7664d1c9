import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { untilClosed } from '../../support/apart/apart.ts'
import { cgroupOf, removeScratch } from '../../support/apart/scratch.ts'
import { runProject } from '../../support/on-demand/run-project.ts'
import { step } from '../../support/on-demand/step.ts'
import { shelter } from './shelter.ts'

/**
 * The first process of a process namespace, with a network and mounts of its own:
 * starts an engine, runs the tests against it, and ends it. Whatever still runs
 * when this process ends, the kernel kills: dockerd, containerd, every container.
 *
 * Standard input is the way to stop it, be it that its parent closes it or dies;
 * in the latter case no other process is left to remove the data.
 */
const [scratch = '', ...args] = process.argv.slice(2)
const END_MS = 30_000
const START_MS = 60_000
const READY = 'API listen on'
const INTERRUPTED = 130

const stopping = untilClosed()
process.exit(await main())

async function main(): Promise<number> {
  spawnSync('ip', ['link', 'set', 'lo', 'up'])
  await shelter(join(scratch, 'shelter'))
  const socket = join(scratch, 'docker.sock')
  const engine = await step('docker', 'starting dockerd in a network namespace of its own', () =>
    startEngine(socket),
  )
  try {
    const status = await runProject('docker', args, {
      env: {
        DOCKER_HOST: `unix://${socket}`,
        // What `ctr` reads.
        CONTAINERD_ADDRESS: join(scratch, 'exec/containerd/containerd.sock'),
        NP_DOCKER_REQUIRED: '1',
        NP_DOCKER_OWN: '1',
      },
      signal: stopping,
    })
    return stopping.aborted ? INTERRUPTED : status
  } finally {
    await step('docker', 'stopping dockerd', () => stop(engine))
    if (stopping.aborted) removeScratch(scratch)
  }
}

/** Ready when it says that it listens; in a session of its own, where no Ctrl-C reaches it. */
async function startEngine(socket: string): Promise<ChildProcess> {
  const configuration = join(scratch, 'daemon.json')
  writeFileSync(configuration, '{}')
  const child = spawn(
    'dockerd',
    [
      '--config-file',
      configuration,
      '--host',
      `unix://${socket}`,
      '--pidfile',
      join(scratch, 'pid'),
      '--data-root',
      join(scratch, 'data'),
      '--exec-root',
      join(scratch, 'exec'),
      '--exec-opt',
      'native.cgroupdriver=cgroupfs',
      '--cgroup-parent',
      `/${cgroupOf(scratch)}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  )
  const log: string[] = []
  const file = createWriteStream(join(scratch, 'dockerd.log'))
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const fail = (why: string): void => reject(new Error([why, ...log.slice(-20)].join('\n')))
  const late = setTimeout(() => fail(`dockerd was not ready in ${START_MS} ms`), START_MS)
  createInterface(child.stderr).on('line', (line) => {
    log.push(line)
    file.write(`${line}\n`)
    if (line.includes(READY)) resolve()
  })
  child.on('error', ({ message }) => fail(message))
  child.on('exit', (code) => fail(`dockerd ended with ${code}`))
  stopping.addEventListener('abort', () => fail('interrupted'))
  await promise.finally(() => clearTimeout(late))
  return child
}

async function stop(engine: ChildProcess): Promise<void> {
  if (engine.exitCode !== null || engine.signalCode !== null) return
  const gone = once(engine, 'exit')
  engine.kill('SIGTERM')
  const late = setTimeout(() => engine.kill('SIGKILL'), END_MS)
  await gone
  clearTimeout(late)
}

import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { endLeftovers } from '../node-agent.ts'
import type { PodEvent } from '../state/pod-event.ts'
import { requireProgram } from '../system/find-program.ts'
import { nodeTools } from '../testing/node-tools.ts'
import { containers, podPlan } from '../testing/pod-story.ts'
import { PodEffects } from './pod-effects.ts'

const PREFIX = `np-effects-${process.pid}`

/** A Pod in the network of this machine, whose one container runs `script`. */
async function stage(script: string) {
  const logFolder = await mkdtemp(join(tmpdir(), 'np-effects-'))
  onTestFinished(() => rm(logFolder, { recursive: true }))
  onTestFinished(() => endLeftovers(PREFIX, systemClock))
  const clock = new FakeClock()
  const tools = nodeTools({
    clock,
    logFolder,
    namespacePrefix: PREFIX,
    programs: { nsenter: '', setpriv: await requireProgram('setpriv'), setsid: '' },
    onError: (error) => expect.fail(String(error)),
  })
  const ended = Promise.withResolvers<void>()
  const events: string[] = []
  const plan = podPlan({ hostNetwork: true, ...containers({ command: ['sh', '-c', script] }) })
  const effects = new PodEffects(tools, plan, (event: PodEvent) => {
    events.push(event.is)
    if (event.is === 'ended') ended.resolve()
  })
  const log = join(logFolder, 'default_web_u1', 'main.log')
  return { clock, effects, events, ended: ended.promise, log }
}

async function isOpen(path: string): Promise<boolean> {
  const folder = '/proc/self/fd'
  const open = await Promise.all(
    (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => '')),
  )
  return open.includes(path)
}

/** Leaves its group behind, with its output. */
const LEAVES = 'setsid sh -c "echo $ORCH_POD; kill -9 \\$PPID; exec sleep 1000" & wait'

test('a Pod that has ended for good holds no log open, although a process still writes to it', async () => {
  const { clock, effects, events, ended, log } = await stage(LEAVES)
  await effects.perform({ do: 'start', container: 'main', run: 1 })
  await ended
  const written = async () => (await readFile(log, 'utf8').catch(() => '')).trim()
  while ((await written()) === '') await new Promise(setImmediate)
  const said = (await written()).replace(/^\S+Z /, '')
  expect([said, await isOpen(log)]).toEqual([`stdout F ${PREFIX}/u1`, true])
  let isOver = false
  const over = effects.perform({ do: 'disconnect' }).then(() => (isOver = true))
  while (!isOver && clock.pending().length === 0) await new Promise(setImmediate)
  await clock.advance(1_000)
  await over
  expect([events, await isOpen(log)]).toEqual([['started', 'ended', 'disconnected'], false])
  await effects.close(false)
})

import type { Sandbox } from '../environment/sandbox.ts'
import { PODS } from '../network/plan.ts'
import type { Command } from './command.ts'
import type { Model } from './model.ts'

const SCALED = 'web-public'

/** Does what a key asked for; the notice says what was done and when the kernel knew. */
export async function obey(
  sandbox: Sandbox,
  model: Model,
  command: Exclude<Command, { kind: 'quit' }>,
): Promise<void> {
  const began = performance.now()
  try {
    const done = await execute(sandbox, model, command)
    model.notice = `${done}; in the kernel after ${Math.round(performance.now() - began)} ms`
  } catch (error) {
    model.notice = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  }
}

async function execute(
  sandbox: Sandbox,
  model: Model,
  command: Exclude<Command, { kind: 'quit' }>,
): Promise<string> {
  const { pods } = sandbox.cluster
  if (command.kind === 'scale') {
    const replicas = Math.min(PODS.length, Math.max(0, model.replicas(SCALED) + command.by))
    await pods.scale(replicas)
    await sandbox.settled()
    return `${SCALED} scaled to ${replicas}`
  }
  const isAlive = pods.state(command.pod).pid !== undefined
  await (isAlive ? pods.signal(command.pod, 'SIGKILL') : pods.start(command.pod))
  await sandbox.settled()
  return `${command.pod} ${isAlive ? 'killed' : 'started'}`
}

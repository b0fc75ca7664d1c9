import type { Agent } from './agent.ts'

/**
 * First packets of connections that were sent again, because nothing answered
 * within a second. Counted by the kernel of the agent's namespace, so that a busy
 * machine, whose programs are late, is distinguished from a packet that was dropped.
 */
export async function repeatedSyns(agent: Agent): Promise<number> {
  const text = await agent.call('read', { path: '/proc/thread-self/net/netstat' })
  const [names = '', values = ''] = text.split('\n').filter((line) => line.startsWith('TcpExt:'))
  const index = names.split(' ').indexOf('TCPSynRetrans')
  if (index < 0) throw new Error(`no TCPSynRetrans in:\n${text}`)
  return Number(values.split(' ')[index])
}

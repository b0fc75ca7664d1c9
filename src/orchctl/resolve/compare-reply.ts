import type { Reply } from './query-server.ts'
import type { ServerReply, TypeAnswer } from './resolution.ts'

/** The reply of a server, and how it differs from the answer that follows from the objects. */
export function comparedReply(reply: Reply, answer: TypeAnswer): ServerReply {
  return {
    status: reply.status,
    records: reply.records.map(({ name, type, data }) => `${name} ${type} ${data}`).sort(),
    difference: differenceOf(reply, answer),
  }
}

/** In a sentence; empty: none, or nothing is known to compare with. Times to live and the order are not compared. */
function differenceOf(reply: Reply, answer: TypeAnswer): string {
  if (!reply.isReply) return `no reply: ${reply.status}`
  if (answer.status === 'FORWARDED' && reply.status === 'SERVFAIL') {
    return 'its upstream brings no answer'
  }
  if (answer.status === 'FORWARDED' || answer.status === 'UNKNOWN') return ''
  const code = answer.status === 'NXDOMAIN' ? 'NXDOMAIN' : 'NOERROR'
  const isCode = reply.status === code || leavesZone(answer)
  const codes = isCode ? [] : [`it says ${reply.status}, by the objects it is ${code}`]
  const wanted = new Set(answer.records.map(({ name, type, data }) => `${name} ${type} ${data}`))
  const held = new Set(reply.records.map(({ name, type, data }) => `${name} ${type} ${data}`))
  const missing = [...wanted].filter((one) => !held.has(one))
  const more = leavesZone(answer) ? [] : [...held].filter((one) => !wanted.has(one))
  return [
    ...codes,
    ...(missing.length === 0 ? [] : [`it does not have ${missing.join(', ')}`]),
    ...(more.length === 0 ? [] : [`only it has ${more.join(', ')}`]),
  ].join('; ')
}

/** Whether another server knows what follows the last alias. */
function leavesZone({ type, status, records }: TypeAnswer): boolean {
  return status === 'NOERROR' && !records.some((record) => record.type === type)
}

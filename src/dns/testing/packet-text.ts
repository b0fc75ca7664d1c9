import type { Answer, DecodedPacket } from 'dns-packet'
import { recordText, type ZoneRecord } from '../zone/record.ts'

/** A decoded answer in the form of a golden question. */
export function packetText(packet: DecodedPacket) {
  const { answers = [], additionals = [] } = packet
  return {
    status: (packet as { readonly rcode?: string }).rcode,
    answers: answers.map(answerText).toSorted(),
    additionals: additionals
      .filter(({ type }) => type !== 'OPT')
      .map(answerText)
      .toSorted(),
  }
}

/** A record of the library as `name TYPE data`. */
export function answerText(answer: Answer): string {
  const record = answer as unknown as ZoneRecord
  const name = record.name.toLowerCase()
  if (record.type !== 'TXT') return recordText({ ...record, name })
  return recordText({ ...record, name, data: record.data.map(String) })
}

import type { ZoneRecord } from './record.ts'

/** A record as `name TYPE data`, as programs print it. */
export function recordText(record: ZoneRecord): string {
  return `${record.name} ${record.type} ${dataText(record)}`
}

/** The data of a record, as programs print it. */
export function dataText(record: ZoneRecord): string {
  switch (record.type) {
    case 'SRV': {
      const { priority, weight, port, target } = record.data
      return `${priority} ${weight} ${port} ${target}`
    }
    case 'TXT':
      return record.data.map((text) => `"${text}"`).join(' ')
    case 'HINFO':
      return `"${record.data.cpu}" "${record.data.os}"`
    case 'SOA':
      return `${record.data.mname} ${record.data.rname} ${record.data.serial}`
    case 'A':
    case 'AAAA':
    case 'CNAME':
    case 'NS':
    case 'PTR':
      return record.data
  }
}

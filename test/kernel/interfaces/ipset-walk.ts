import {
  type Member,
  memberText,
  type SetHeader,
  type Sets,
} from '../../../src/kernel/ipset/sets.ts'
import { STEPS } from './ipset-steps.ts'

/** Sets with members, as they stand after all steps; then everything is destroyed. */
export async function walk(sets: Sets) {
  const refused: (readonly [number, number])[][] = []
  for (const { commands } of STEPS) {
    refused.push((await sets.run(commands)).map(({ index, errno }) => [index, errno]))
  }
  const names = await sets.names('')
  const headers = [...(await sets.headers('NP-'))]
  const members: unknown[] = []
  for (const name of [...names, 'NP-NONE', '']) {
    members.push((await sets.members(name))?.map(describe).toSorted() ?? 'none')
  }
  const flush = { do: 'flush', name: 'NP-C' } as const
  const left = await sets.run([flush, ...names.map((name) => ({ do: 'destroy', name }) as const)])
  return {
    refused,
    names,
    headers: headers.map(withoutMemory),
    members,
    left,
    gone: await sets.names(''),
  }
}

/** Time passes in the kernel: what is left of a timeout is rounded up to tens of seconds. */
function describe({ timeout, mark, ...member }: Member): string {
  const words = [memberText(member)]
  if (timeout !== undefined) words.push(`timeout ${Math.ceil(timeout / 10) * 10}`)
  if (mark !== undefined) words.push(`mark ${mark.value}/${mark.mask}`)
  return words.join(' ')
}

/** As JSON has it: what is undefined is absent. */
function withoutMemory([name, { memory, ...header }]: readonly [string, SetHeader]) {
  const rest: unknown = JSON.parse(JSON.stringify(header))
  return [name, memory > 0, rest]
}

export const WALKED = {
  refused: STEPS.map((step) => step.refused),
  names: ['NP-A', 'NP-B', 'NP-C', 'OTHER'],
  headers: [
    [
      'NP-A',
      true,
      {
        type: 'hash:ip',
        family: 4,
        maxElements: 3,
        hashSize: 1024,
        withMark: false,
        counters: false,
        references: 0,
        entries: 1,
      },
    ],
    [
      'NP-B',
      true,
      {
        type: 'hash:ip,port',
        family: 6,
        maxElements: 1_048_576,
        hashSize: 1024,
        withMark: false,
        counters: false,
        references: 0,
        entries: 3,
      },
    ],
    [
      'NP-C',
      true,
      {
        type: 'hash:ip,port,net',
        family: 4,
        maxElements: 1_048_576,
        hashSize: 2048,
        timeout: 600,
        withMark: true,
        counters: true,
        references: 0,
        entries: 4,
      },
    ],
  ],
  members: [
    ['192.0.2.1'],
    ['fd00::1,sctp:65535', 'fd00::1,udp:80', 'fd00::9,tcp:0'],
    [
      '0.0.0.0,tcp:0,0.0.0.0/1 timeout 600',
      '10.96.0.1,tcp:80,192.0.2.1/32 timeout 600',
      '10.96.0.1,tcp:80,192.168.0.0/16 timeout 0 mark 16384/4294967295',
      '10.96.0.2,tcp:80,10.0.0.0/8 timeout 600',
    ],
    ['fd00::1 timeout 0', 'fd00::2 timeout 300'],
    'none',
    'none',
  ],
  left: [],
  gone: [],
}

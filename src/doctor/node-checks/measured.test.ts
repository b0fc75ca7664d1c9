import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { MEASURED } from './too-many-rules.ts'

const RESULTS = readFileSync(new URL('../../../bench/RESULTS.md', import.meta.url), 'utf8')

/** Rows of a table of the page: cells by the column of its head. */
function tableOf(title: string): readonly (readonly string[])[] {
  const text = RESULTS.slice(RESULTS.indexOf(`### ${title}\n`)).split('\n###')[0] ?? ''
  const rows = text.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .map((cell) => cell.trim())
      .slice(1),
  )
}

/** `125.8 (113.0–134.1)` */
function median(cell = ''): number {
  return Number(cell.split(' ')[0])
}

test.each(MEASURED)(
  '$services Services: as bench/RESULTS.md has them',
  ({ services, ...measured }) => {
    const of = services.toLocaleString('en-US')
    const iptables = tableOf('One endpoint replaced').filter(([name]) => name === of)
    const byVariant = (variant: string) => median(iptables.find((row) => row[1] === variant)?.[3])
    const nftables = tableOf('nftables: One endpoint replaced')
    const ipvs = tableOf('ipvs: One endpoint replaced')
    expect(measured).toEqual({
      nft: byVariant('nft'),
      legacy: byVariant('legacy'),
      nftables: median(nftables.find((row) => row[0] === of && row[1] === '10')?.[3]),
      ipvs: median(ipvs.find(([name]) => name === of)?.[3]),
    })
  },
)

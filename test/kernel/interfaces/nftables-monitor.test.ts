import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

const by = (process: string, ...touched: object[]) => [{ touched, process }]
const chain = (name: string) => ({ family: 4, table: 'nat', chain: name })

test('the monitor hears what others do to nf_tables, and nothing of ours', async () => {
  expect(await runInside('nftables-monitor.script.ts')).toEqual({
    'rule deleted': by('iptables-nft', chain('NP-A')),
    'after our own': by('iptables-nft', chain('NP-FOREIGN')),
    'during our own': by('iptables-nft', chain('NP-1')),
    'while unsubscribed': ['unknown'],
    'everything flushed': ['unknown'],
    'after our own overrun': by(
      'ip6tables-nft',
      { family: 6, table: 'filter' },
      { family: 6, table: 'filter', chain: 'NP-SIX' },
    ),
    'an overrun by others': ['unknown'],
    ofOurOwn: [],
  })
})

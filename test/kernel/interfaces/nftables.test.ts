import { expect, test } from 'vitest'
import { runInside } from './run-inside.ts'

test('what is written to nf_tables reads back as written, and nft prints it so that it can be loaded again', async () => {
  expect(await runInside('nftables.script.ts')).toEqual({
    'a table that is not there': true,
    'differs after it was written': [],
    // Behind the protocol in the key of source-ranges nft puts a conversion that leaves a single byte as it is.
    'differs after it was printed and loaded again': [
      'differs: 4/chain/prerouting',
      'differs: 4/chain/prerouting-again',
      'differs: 4/chain/output',
      'differs: 4/chain/output-again',
      'differs: 6/chain/prerouting',
      'differs: 6/chain/prerouting-again',
      'differs: 6/chain/output',
      'differs: 6/chain/output-again',
    ],
    'differs after it was repaired': [],
    'elements that were looked up': ['10.96.0.1 0', '10.96.0.1 1'],
    'until the first that is missing': ['10.96.0.1 0'],
    // ERESTART.
    'a transaction of another generation': { errno: 85 },
    'the second command is refused': { command: 1, errno: 'ENOENT' },
    'nothing of it is there': true,
    'a comment that nft shows': 'shop/web:http/TCP/4',
    'a table of another socket': { command: 1, errno: 'EPERM' },
    'a table goes with its socket': true,
  })
})

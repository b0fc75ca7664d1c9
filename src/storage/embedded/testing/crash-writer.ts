import { openEmbeddedStore } from '../embedded-store.ts'

/**
 * A program for crash tests: writes pairs of keys from several writers for ever
 * and prints a line for every acknowledged transaction: `<writer> <count> <revision>`.
 */
async function main(directory: string, start: number): Promise<void> {
  const store = await openEmbeddedStore({ directory, historyRevisions: 500 })
  const write = async (writer: number): Promise<never> => {
    for (let count = start; ; count++) {
      const value = Buffer.from(String(count))
      const { revision } = await store.txn({
        compare: [],
        operations: ['left', 'right'].map((side) => ({
          op: 'put' as const,
          key: `/${writer}/${side}`,
          value,
        })),
      })
      process.stdout.write(`${writer} ${count} ${revision}\n`)
    }
  }
  await Promise.all([0, 1, 2, 3].map(write))
}

await main(process.argv[2]!, Number(process.argv[3]))

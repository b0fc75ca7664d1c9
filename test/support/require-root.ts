/**
 * Network namespaces and packet filters belong to root. Without it the kernel
 * tests say so once, instead of failing one by one for an unclear reason.
 */
export function setup(): void {
  if (process.getuid?.() !== 0) {
    throw new Error('the kernel tests need root; run the others with: npm run test:unit')
  }
}

/**
 * Network namespaces and packet filters need root. Without root, the kernel tests fail once with a clear message, and
 * not one by one for unclear reasons.
 */
export function setup(): void {
  if (process.getuid?.() !== 0) {
    throw new Error('the kernel tests need root; run the others with: npm run test:unit')
  }
}

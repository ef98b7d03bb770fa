/**
 * Whether the sandbox of commands has to change the user. It needs root or user namespaces: tests that import this file
 * are left out where there are none.
 */
export const isSuperuser = process.getuid?.() === 0

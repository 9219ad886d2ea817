// Keeps SIGUSR1 from opening a debugger, which would hand the process with its secrets to every program of the machine that
// reaches its port. Imported first by whatever starts Castellan: not every command line can have Node's --disable-sigusr1.
// It must stay plain JavaScript that Node 18 parses. Start Node with --inspect to debug.
process.on('SIGUSR1', () => {});

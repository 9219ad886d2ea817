// The pages of people who are not signed in.
document.getElementById('root')?.append('sign in');
